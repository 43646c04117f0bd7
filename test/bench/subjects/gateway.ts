import { readFileSync } from "node:fs";
import { startGateway } from "../../../src/compose.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { reportTo } from "./report.ts";

// The gateway as `sallyport serve` runs it, on the configuration that the first argument names.
const path = process.argv[2] ?? "";
const loaded = loadConfig({
  text: readFileSync(path, "utf8"),
  path,
  env: () => undefined,
  readFile: (file) => readFileSync(file, "utf8"),
});
if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
const { addresses } = await startGateway(loaded);
reportTo(process, Number(new URL(addresses.public).port));
