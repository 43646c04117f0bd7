import { afterEach, describe, expect, it } from "vitest";
import { ada, exchange, obtainCode, refresh, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

const denied = new Set<string>();
let harness: Harness | undefined;

afterEach(async () => {
  denied.clear();
  await harness?.close();
});

describe("somebody on the deny list", () => {
  it("gets no new token for a refresh token of before", async () => {
    harness = await startHarness({ isDenied: (subject) => Promise.resolve(denied.has(subject)) });
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect(second.status).toBe(200);
    denied.add(ada.subject);
    const refused = await refresh(harness, flow.clientId, second.body["refresh_token"]);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  it("gets none for a code that was given before", async () => {
    harness = await startHarness({ isDenied: (subject) => Promise.resolve(denied.has(subject)) });
    const flow = await obtainCode(harness);
    denied.add(ada.subject);
    const refused = await exchange(harness, flow);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
  });
});
