import { expect, it } from "vitest";
import { deniedTokenKey, refuseDenied } from "../../src/auth/deny-list.ts";
import type { RecordKey } from "../../src/model/records.ts";
import { principal } from "../policy/given.ts";

it("looks for each token of one principal under its own digest", () => {
  const who = principal();
  const denied = JSON.stringify(deniedTokenKey(who.tenant, "second"));
  const getNow = (key: RecordKey): string | undefined => (JSON.stringify(key) === denied ? "1" : undefined);
  const list = { get: (key: RecordKey) => Promise.resolve(getNow(key)), getNow };
  const asked = ["first", "second", "first"].map((digest) => refuseDenied(list, who, digest));
  expect(asked.map((refused) => refused !== undefined)).toEqual([false, true, false]);
});
