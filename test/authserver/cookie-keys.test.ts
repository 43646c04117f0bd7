import { randomBytes } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createBrowserSessions, isOwnForm } from "../../src/connect/browser-sessions.ts";
import type { Browser } from "../../src/connect/browser-sessions.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createTestSealer } from "./fake-provider.ts";
import { ada, authorizationUrl, registerPublic, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";
import { createMemoryRecords } from "./memory-records.ts";

const open: Harness[] = [];

afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

const [old, next] = ["the old cookie key 123456", "the new cookie key 123456"];

/** A sign-in form that one replica shows, and what another answers to it. */
async function answered(shownUnder: readonly string[], takenUnder: readonly string[]): Promise<number> {
  const records = createMemoryRecords();
  const publicUrl = "http://127.0.0.1";
  const start = async (cookieKeys: readonly string[]): Promise<Harness> => {
    const harness = await startHarness({ records, publicUrl, secrets: { cookieKeys } });
    open.push(harness);
    return harness;
  };
  const [shows, takes] = [await start(shownUnder), await start(takenUnder)];
  const begun = await fetch(authorizationUrl(shows, await registerPublic(shows)), { redirect: "manual" });
  const { pathname } = new URL(begun.headers.get("location") ?? "", publicUrl);
  const cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const page = await (await fetch(shows.origin + pathname, { headers: { cookie } })).text();
  const token = /name="token"\s+value="([^"]*)"/.exec(page)?.[1] ?? "";
  const body = new URLSearchParams({ token, action: "go", username: ada.username, password: ada.password });
  return (await fetch(takes.origin + pathname, { method: "POST", redirect: "manual", headers: { cookie }, body }))
    .status;
}

describe("a sign-in form that was shown under one cookie secret", () => {
  it.each([
    ["is taken when the next one signs", [old, next], [next, old], 303],
    ["is taken by a replica that the next one has not reached", [next, old], [old, next], 303],
  ])("%s", async (_what, shown, taken, status) => {
    expect(await answered(shown, taken)).toBe(status);
  });
});

describe("a form of the connect pages that was shown under one key", () => {
  const keys = { old: randomBytes(32), next: randomBytes(32) };
  const id = randomBytes(32).toString("base64url");
  const visitorOf = (formKeys: readonly Uint8Array[]): Promise<Browser> => {
    const records = createMemoryStore({ now: () => 0 });
    const random = (bytes: number): Uint8Array => randomBytes(bytes);
    const publicUrl = "http://127.0.0.1";
    const sessions = createBrowserSessions({ publicUrl, records, sealer: createTestSealer(), formKeys, random });
    const req = new IncomingMessage(new Socket());
    req.headers.cookie = `sallyport_browser=${id}`;
    return sessions.of(req, new ServerResponse(req));
  };

  it.each([
    ["is taken when the next one signs", [keys.next, keys.old], true],
    ["is not taken once it has been dropped", [keys.next], false],
  ])("%s", async (_what, taken, expected) => {
    const { formToken } = await visitorOf([keys.old]);
    const after = await visitorOf(taken);
    expect(isOwnForm(after, new URLSearchParams({ token: formToken }))).toBe(expected);
    expect(isOwnForm(after, new URLSearchParams({ token: after.formToken }))).toBe(true);
    expect(isOwnForm(after, new URLSearchParams({ token: "" }))).toBe(false);
  });
});
