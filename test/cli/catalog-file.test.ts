import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { tool } from "../journey/listening-bench.ts";
import { folderOf } from "./workspace.ts";

const config = {
  publicUrl: "http://127.0.0.1:8080",
  auth: { none: true },
  upstreams: { crm: { url: "http://127.0.0.1:9/mcp", addresses: "loopback" } },
  servers: { s: { upstreams: { crm: {} } } },
  catalogLock: "./catalog.lock.json",
};

/** Runs `sallyport catalog update` where no file may grow past so many blocks of 512 or 1024 bytes. */
async function update(folder: string, blocks: string): Promise<{ code: number | null; stderr: string }> {
  const main = join(import.meta.dirname, "../../src/main.ts");
  const command = ["--import", "tsx", main, "catalog", "update", "--config", join(folder, "sallyport.yaml")];
  const child = spawn(
    "/bin/sh",
    [
      ...["-c", `ulimit -f ${blocks}; exec "$@"`, "sh", process.execPath, ...command],
      ...["--from-definition", `crm=${join(folder, "crm.json")}`],
    ],
    { env: { ...process.env, TSX_DISABLE_CACHE: "1" }, stdio: ["ignore", "ignore", "pipe"] },
  );
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stderr, code] = await Promise.all([text(child.stderr), closed]);
  return { code, stderr };
}

it("a lock of which the disk takes only a part leaves the one before it", { timeout: 120_000 }, async () => {
  const before = '{"lockVersion":1,"upstreams":{}}';
  const folder = folderOf({
    "sallyport.yaml": JSON.stringify(config),
    "catalog.lock.json": before,
    "crm.json": JSON.stringify({ tools: [tool("get", "Reads a customer. ".repeat(800))] }),
  });
  const lock = (): string => readFileSync(join(folder, "catalog.lock.json"), "utf8");
  expect(await update(folder, "8")).toEqual({ code: 1, stderr: expect.stringContaining("EFBIG") as string });
  expect(lock()).toBe(before);
  expect(readdirSync(folder).sort()).toEqual(["catalog.lock.json", "crm.json", "sallyport.yaml"]);
  expect(await update(folder, "unlimited")).toEqual({ code: 0, stderr: "" });
  expect(lock()).toContain("Reads a customer.");
});
