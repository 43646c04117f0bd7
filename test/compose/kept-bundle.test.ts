import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BundleTexts } from "../../src/cli/load-policies.ts";
import { openKeptBundle } from "../../src/compose-kept-bundle.ts";
import type { Config } from "../../src/config/types.ts";
import { Secret } from "../../src/config/secret.ts";
import { limits } from "../../src/model/limits.ts";
import { createMemoryStore } from "../../src/store/memory.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-kept-"));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What of a configuration says where a bundle is kept. */
function configWith(more: object): Config {
  const session = new Secret("a session key, long enough to be one");
  return { limits, keys: { session, sessionPrevious: [] }, ...more } as unknown as Config;
}

describe.each([
  ["in a file", () => configWith({ lastGoodBundle: join(folder, "bundle"), store: { kind: "memory" } })],
  ["in a shared store", () => configWith({ store: { kind: "redis" } })],
])("a bundle that is kept %s", (_, config) => {
  const policy = { path: "a.yaml", text: "policy: a", owner: "crm-team" };
  const large = { path: "b.yaml", text: Array.from({ length: 200_000 }, (__, at) => at.toString(36)).join(" ") };

  it.each<[string, unknown]>([
    ["of policies and a lock", { policies: [policy], lock: "{}" }],
    ["without a lock", { policies: [policy] }],
    ["of several pieces", { policies: [{ ...large, owner: undefined }] }],
    ["of nothing", { policies: [] }],
  ])("is read as it was written: %s", async (__, texts) => {
    const kept = openKeptBundle(config(), createMemoryStore({ now: Date.now }));
    await kept?.write(texts as BundleTexts);
    expect(await kept?.read()).toEqual(texts);
  });

  it.each<[string, unknown]>([
    ["no object", "policies"],
    ["no policies", {}],
    ["a policy without text", { policies: [{ path: "a.yaml" }] }],
    ["an owner that is no name", { policies: [{ ...policy, owner: 1 }] }],
    ["a lock that is no text", { policies: [policy], lock: {} }],
  ])("is none where another version wrote %s", async (__, texts) => {
    const kept = openKeptBundle(config(), createMemoryStore({ now: Date.now }));
    await kept?.write(texts as BundleTexts);
    expect(await kept?.read()).toBeUndefined();
  });
});
