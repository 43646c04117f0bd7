import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { folderOf, soundConfig, soundPolicy } from "./workspace.ts";

it("a reader that stops reading is no failure", { timeout: 120_000 }, async () => {
  const folder = folderOf({ "sallyport.yaml": soundConfig, "policies/support.yaml": soundPolicy });
  const main = join(import.meta.dirname, "../../src/main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, "check", join(folder, "sallyport.yaml")], {
    env: { ...process.env, CRM: "Bearer x" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stderr, code] = await Promise.all([text(child.stderr), closed]);
  expect(stderr).not.toContain("EPIPE");
  expect(code).toBe(0);
});
