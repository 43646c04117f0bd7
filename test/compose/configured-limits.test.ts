import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openEvidence, openStore } from "../../src/compose-keeping.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/types.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";

const folders: string[] = [];
const log = createLog({ level: "fatal", destination: { write: () => undefined } });
const metrics = createMetrics({ servers: [], upstreams: [], columns: [], processMetrics: false });

afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

async function configWith(limits: Readonly<Record<string, number>>): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-compose-"));
  folders.push(folder);
  const text = JSON.stringify({
    publicUrl: "http://127.0.0.1:8080",
    auth: { none: true },
    upstreams: { one: { url: "https://one.test/mcp" } },
    servers: { all: { upstreams: { one: {} } } },
    audit: { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }] },
    limits,
  });
  const loaded = loadConfig({
    text,
    path: join(folder, "sallyport.yaml"),
    env: () => undefined,
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

describe("limits that configuration sets are the ones that hold", () => {
  it("the memory store takes memoryStoreEntriesMax records and not one more", async () => {
    const { store } = openStore(await configWith({ memoryStoreEntriesMax: 100 }), log, metrics);
    for (let at = 0; at < 100; at += 1) await store.set(["session", "default", String(at)], "x", 60_000);
    await expect(store.set(["session", "default", "one too many"], "x", 60_000)).rejects.toThrow();
    await store.close();
  });

  it("the evidence queue takes auditQueueMax events and not one more", async () => {
    const config = await configWith({ auditQueueMax: 10 });
    const digests = () => ({ configuration: "", policy: "", lock: "" });
    const evidence = await openEvidence({ config, log, metrics, streams: undefined, digests, replica: "r" });
    const kept = Array.from({ length: 11 }, (_, at) =>
      evidence.record({ type: "session", ref: String(at), tenant: "default" }),
    );
    expect(kept).toEqual([...Array<boolean>(10).fill(true), false]);
    await evidence.close();
  });
});
