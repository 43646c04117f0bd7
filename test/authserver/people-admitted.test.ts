import { afterEach, describe, expect, it } from "vitest";
import { endSignIns, hasEnded } from "../../src/authserver/ended-sign-ins.ts";
import { limits } from "../../src/model/limits.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createBrowser, hiddenToken } from "./browser.ts";
import {
  ada,
  authorizationUrl,
  bob,
  exchange,
  obtainCode,
  postForm,
  refresh,
  registerPublic,
  robot,
  startHarness,
} from "./harness.ts";
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

describe("a service on the deny list", () => {
  it("gets no token, and others do", async () => {
    harness = await startHarness({ isDenied: (subject) => Promise.resolve(denied.has(subject)) });
    const fields = { grant_type: "client_credentials", resource: `${harness.server.issuer}/support/mcp` };
    const authorization = `Basic ${Buffer.from(`${robot.clientId}:${robot.clientSecret}`).toString("base64")}`;
    denied.add("another");
    expect((await postForm(harness, "/token", fields, { authorization })).status).toBe(200);
    denied.add(robot.clientId);
    const refused = await postForm(harness, "/token", fields, { authorization });
    expect([refused.status, refused.body["error"]]).toEqual([400, "unauthorized_client"]);
  });
});

describe("somebody on the deny list who knows the password", () => {
  it("is not let in, and no session of theirs is left", async () => {
    harness = await startHarness({ isDenied: (subject) => Promise.resolve(denied.has(subject)) });
    denied.add(ada.subject);
    const browser = createBrowser();
    const form = await browser.open(authorizationUrl(harness, await registerPublic(harness)));
    const page = await browser.submit(form, { username: ada.username, password: ada.password });
    expect([page.status, page.left, page.text.includes("You are not let in")]).toEqual([403, undefined, true]);
    expect(harness.records.keysOf("oauthSession")).toEqual([]);
    const other = await browser.submit(form, { username: bob.username, password: bob.password });
    expect(other.text).toContain("Allow access?");
  });
});

describe("somebody whose sign-ins were ended", () => {
  const ended = async (subject: string, now = Date.now()): Promise<void> => {
    if (harness === undefined) return;
    const who = { tenant: "default", issuer: harness.server.issuer, subject };
    await endSignIns(harness.records, who, { now, refreshTokenSeconds: 86_400 });
  };

  it("has no refresh token of before, although nobody denies them any more", async () => {
    harness = await startHarness();
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    await ended(bob.subject);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect(second.status).toBe(200);
    await ended(ada.subject);
    const refused = await refresh(harness, flow.clientId, second.body["refresh_token"]);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  it("has no code of before", async () => {
    harness = await startHarness();
    const flow = await obtainCode(harness);
    await ended(ada.subject);
    const refused = await exchange(harness, flow);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  it("signs in anew in a browser that was signed in", async () => {
    harness = await startHarness();
    const [browser, url] = [createBrowser(), authorizationUrl(harness, await registerPublic(harness))];
    await browser.submit(await browser.open(url), { username: ada.username, password: ada.password });
    expect((await browser.open(url)).text).not.toContain('name="password"');
    await ended(ada.subject);
    expect((await browser.open(url)).text).toContain('name="password"');
  });

  it("does not go on with a password that was accepted before, when the browser comes back only after", async () => {
    harness = await startHarness();
    const browser = createBrowser();
    const form = await browser.open(authorizationUrl(harness, await registerPublic(harness)));
    harness.advance(-10_000);
    const body = new URLSearchParams({
      token: hiddenToken(form),
      action: "go",
      username: ada.username,
      password: ada.password,
    });
    const cookie = [...browser.cookies].map(([key, value]) => `${key.split(";")[0] ?? ""}=${value}`).join("; ");
    const posted = await fetch(form.url, { method: "POST", body, headers: { cookie }, redirect: "manual" });
    const resume = new URL(posted.headers.get("location") ?? "", harness.origin);
    await ended(ada.subject, Date.now() - 5_000);
    const page = await browser.open(resume);
    expect(page.text).toContain('name="password"');
    expect(page.text).not.toContain("Allow access?");
  });

  it("may sign in anew", async () => {
    harness = await startHarness();
    await ended(ada.subject, Date.now() - 2_000);
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    expect((await refresh(harness, flow.clientId, first.body["refresh_token"])).status).toBe(200);
  });

  const one = { tenant: "default", issuer: "https://gateway.test", subject: "ada" };

  it.each([
    [9_000, true],
    [10_000, true],
    [10_999, true],
    [11_000, false],
    [undefined, true],
  ])("at 10.999 s: what began at %s ms has ended: %s", async (since, expected) => {
    const records = createMemoryStore({ now: () => 0 });
    await endSignIns(records, one, { now: 10_999, refreshTokenSeconds: 60 });
    expect(await hasEnded(records, one, since)).toBe(expected);
    const others = [
      { ...one, subject: "bob" },
      { ...one, issuer: "https://other.test" },
      { ...one, tenant: "acme" },
    ];
    for (const other of others) expect(await hasEnded(records, other, since)).toBe(false);
  });

  it.each([
    [0, limits.oauthSignInSeconds],
    [60, limits.oauthSignInSeconds],
    [2 * limits.oauthSignInSeconds, 2 * limits.oauthSignInSeconds],
  ])(
    "stays so while anything of before may live: refresh tokens of %d s are remembered for %d s",
    async (life, kept) => {
      let now = 0;
      const records = createMemoryStore({ now: () => now });
      await endSignIns(records, one, { now, refreshTokenSeconds: life });
      now = kept * 1_000 - 1;
      expect(await hasEnded(records, one, 0)).toBe(true);
      now += 1;
      expect(await hasEnded(records, one, 0)).toBe(false);
    },
  );
});
