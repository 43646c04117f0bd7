import { createHash, randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { createBrowser } from "./browser.ts";
import type { Browser, View } from "./browser.ts";
import { endSignIns } from "../../src/authserver/ended-sign-ins.ts";
import type { ProviderRechecked } from "../../src/authserver/port.ts";
import { createFakeProvider, createTestSealer, grace } from "./fake-provider.ts";
import type { FakeProvider } from "./fake-provider.ts";
import { authorizationUrl, decodeToken, exchange, refresh, registerPublic, startHarness } from "./harness.ts";
import type { Answer, Changes, Harness } from "./harness.ts";

const open: Harness[] = [];

afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

async function start(provider: FakeProvider, changes: Changes = {}): Promise<Harness> {
  const broker = { issuer: "https://idp.test", provider, sealer: createTestSealer(), regrantSeconds: 43_200 };
  const harness = await startHarness({ users: [], broker, ...changes });
  open.push(harness);
  return harness;
}

interface AtProvider {
  readonly clientId: string;
  readonly verifier: string;
  readonly state: string;
  readonly view: View;
}

/** Begins an authorization, up to where the browser stands before the provider. */
async function goToProvider(harness: Harness, browser: Browser, client?: string): Promise<AtProvider> {
  const clientId = client ?? (await registerPublic(harness));
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const view = await browser.open(authorizationUrl(harness, clientId, { code_challenge: challenge, login_hint: "g" }));
  return { clientId, verifier, state: view.left?.searchParams.get("state") ?? "", view };
}

function callback(harness: Harness, state: string, more = "&code=abc"): string {
  return `${harness.origin}/oauth/callback?state=${state}${more}`;
}

async function signIn(harness: Harness, browser = createBrowser()): Promise<{ clientId: string; answer: Answer }> {
  const { clientId, verifier, state } = await goToProvider(harness, browser);
  const consent = await browser.open(callback(harness, state));
  const done = await browser.submit(consent, {});
  const code = done.left?.searchParams.get("code") ?? "";
  return { clientId, answer: await exchange(harness, { clientId, verifier, code }) };
}

describe("sign-in at the company's provider", () => {
  it("takes the place of passwords: the browser goes there, comes back, consents, and the token is the person's", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const browser = createBrowser();
    const { view, state } = await goToProvider(harness, browser);
    expect(view.left?.origin).toBe("https://idp.test");
    expect(view.left?.searchParams.get("redirect_uri")).toBe(`${harness.origin}/oauth/callback`);
    expect(view.left?.searchParams.get("hint")).toBe("g");
    const consent = await browser.open(callback(harness, state));
    expect(consent.text).toMatch(/asks to act for you, Grace H/);
    expect(provider.finishes[0]).toMatchObject({ kept: "verifier-1", redirectUri: `${harness.origin}/oauth/callback` });
    const { answer } = await signIn(harness);
    expect(decodeToken(answer.body["access_token"]).claims).toMatchObject({ sub: "p-grace", groups: ["support"] });
  });

  it("takes no password, and no sign-in form", async () => {
    const harness = await start(createFakeProvider(), {
      users: [{ username: "ada", password: "pw", subject: "u", groups: [], name: "Ada" }],
    });
    const browser = createBrowser();
    await goToProvider(harness, browser);
    const uid = [...browser.cookies.keys()]
      .find((key) => key.includes("/oauth/interaction/"))
      ?.split("/")
      .at(-1);
    const page = `${harness.origin}/oauth/interaction/${uid ?? ""}`;
    const response = await fetch(page, {
      method: "POST",
      headers: { cookie: [...browser.cookies].map(([key, value]) => `${key.split(";")[0] ?? ""}=${value}`).join("; ") },
      body: new URLSearchParams({ action: "go", username: "ada", password: "pw" }),
    });
    expect(response.status).toBe(403);
    expect(await harness.server.signIn({ username: "ada", password: "pw", address: "" })).toEqual({ kind: "wrong" });
  });

  it("finishes only in the browser that began it, and leaves it to that one", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const [alice, bob] = [createBrowser(), createBrowser()];
    const { state } = await goToProvider(harness, alice);
    await goToProvider(harness, bob);
    expect((await bob.open(callback(harness, state))).status).toBe(403);
    expect((await createBrowser().open(callback(harness, state))).status).toBe(403);
    expect(provider.finishes).toEqual([]);
    expect((await alice.open(callback(harness, state))).text).toContain("Allow access?");
  });

  it("takes each answer once", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    await browser.open(callback(harness, state));
    expect((await browser.open(callback(harness, state))).status).toBe(403);
    expect(provider.finishes).toHaveLength(1);
  });

  it("takes it once also from a browser that kept the cookie, where the provider takes its code twice", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const cookies = new Map<string, string>();
    const { state } = await goToProvider(harness, createBrowser(cookies));
    const before = new Map(cookies);
    const replay = (): Promise<View> => createBrowser(new Map(before)).open(callback(harness, state));
    const answers = await Promise.all([replay(), replay(), replay()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
    expect((await replay()).status).toBe(403);
    expect(provider.finishes.length).toBeGreaterThan(1);
  });

  it("continues the authorization that it was begun for, whichever of a browser's tabs comes back first", async () => {
    const harness = await start(createFakeProvider());
    const browser = createBrowser();
    const [one, other] = [await goToProvider(harness, browser), await goToProvider(harness, browser)];
    for (const { state, clientId, verifier } of [other, one]) {
      const done = await browser.submit(await browser.open(callback(harness, state)), {});
      const code = done.left?.searchParams.get("code") ?? "";
      expect((await exchange(harness, { clientId, verifier, code })).status).toBe(200);
    }
  });

  it("ends with the sign-ins of its person, also when the browser goes on only after that", async () => {
    const harness = await start(createFakeProvider());
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    harness.advance(-10_000);
    const cookie = [...browser.cookies].map(([key, value]) => `${key.split(";")[0] ?? ""}=${value}`).join("; ");
    const back = await fetch(callback(harness, state), { headers: { cookie }, redirect: "manual" });
    const who = { tenant: "default", issuer: harness.server.issuer, subject: grace.subject };
    await endSignIns(harness.records, who, { now: Date.now() - 5_000, refreshTokenSeconds: 60 });
    const page = await browser.open(new URL(back.headers.get("location") ?? "", harness.origin));
    expect([page.left?.origin, page.text.includes("Allow access?")]).toEqual(["https://idp.test", false]);
  });

  it("leaves nothing of a stranger in the store but the authorization itself", async () => {
    const harness = await start(createFakeProvider());
    const clientId = await registerPublic(harness);
    await createBrowser().open(authorizationUrl(harness, clientId, { scope: undefined }));
    const kinds = ["oauth", "oauthAttempts", "oauthPeople", "oauthSession"].map((kind) => [
      kind,
      harness.records.keysOf(kind).filter((name) => !name.includes('"Client"')).length,
    ]);
    expect(Object.fromEntries(kinds)).toEqual({ oauth: 1, oauthAttempts: 0, oauthPeople: 0, oauthSession: 0 });
  });

  it("lets nobody in who is on the deny list, keeps nothing of them, and sends them nowhere", async () => {
    const denied = new Set<string>();
    const provider = createFakeProvider();
    const harness = await start(provider, { isDenied: (subject) => Promise.resolve(denied.has(subject)) });
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    denied.add(grace.subject);
    const page = await browser.open(callback(harness, state));
    expect([page.status, page.left, page.text.includes("You are not let in")]).toEqual([403, undefined, true]);
    for (const kind of ["oauthPeople", "oauthAttempts", "oauthSession"])
      expect(harness.records.keysOf(kind)).toEqual([]);
    denied.clear();
    const again = await goToProvider(harness, browser);
    expect((await browser.open(callback(harness, again.state))).text).toContain("Allow access?");
  });

  it.each([
    ["no state", "code=abc"],
    ["an unknown state", "code=abc&state=x"],
    ["two states", "code=abc&state=STATE&state=STATE"],
  ])("refuses an answer with %s", async (_what, query) => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    const url = `${harness.origin}/oauth/callback?${query.replaceAll("STATE", state)}`;
    expect((await browser.open(url)).status).toBe(403);
    expect(provider.finishes).toEqual([]);
  });

  it.each([
    ["declined", "access_denied", 403, "access_denied"],
    ["declined", "<b>x</b>", 403, undefined],
    ["refused", undefined, 403, undefined],
    ["unavailable", undefined, 503, undefined],
  ] as const)("shows on our page that the provider %s (%s)", async (reason, detail, status, shown) => {
    const provider = createFakeProvider();
    provider.finished = { ok: false, reason, ...(detail === undefined ? {} : { detail }) };
    const harness = await start(provider);
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    const page = await browser.open(callback(harness, state, "&error=access_denied&error_description=Call+0800"));
    expect([page.status, page.left]).toEqual([status, undefined]);
    expect(page.text).not.toMatch(/<b>|0800/);
    if (shown !== undefined) expect(page.text).toContain(shown);
  });

  it("says so when the provider cannot be reached at all", async () => {
    const provider = createFakeProvider();
    provider.available = false;
    const { view } = await goToProvider(await start(provider), createBrowser());
    expect([view.status, view.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(view.text).toContain("The sign-in cannot be reached");
  });

  it.each(["robot", "okta:ada"])("lets the provider call nobody %s, which is somebody else", async (subject) => {
    const harness = await start(createFakeProvider({ ...grace, subject }), {
      assertionIssuers: [
        {
          alias: "okta",
          issuer: "https://okta.test",
          jwksUri: "https://okta.test/keys",
          algorithms: ["ES256"],
          subjectFrom: "sub",
          groupsClaim: undefined,
          groupsMax: 3,
          clients: undefined,
          fetch: () => Promise.reject(new Error("none")),
        },
      ],
    });
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    expect((await browser.open(callback(harness, state))).status).toBe(403);
  });

  it("exists nowhere without a provider", async () => {
    const harness = await startHarness();
    open.push(harness);
    expect(harness.server.handles("/oauth/callback")).toBe(false);
    expect((await fetch(`${harness.origin}/oauth/callback`)).status).toBe(404);
  });

  it("names the browser by a cookie that only this origin can have set", async () => {
    const publicUrl = "https://gw.test";
    const harness = await start(createFakeProvider(), { publicUrl });
    const clientId = await registerPublic(harness);
    const local = authorizationUrl(harness, clientId);
    const first = await fetch(local, { redirect: "manual" });
    const page = new URL(first.headers.get("location") ?? "", publicUrl);
    const cookie = first.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const second = await fetch(harness.origin + page.pathname, { redirect: "manual", headers: { cookie } });
    expect(second.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-sallyport_provider_[a-z0-9]+-[\w-]{6}=[\w.-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      ) as string,
    ]);
  });
});

describe("what the provider said of somebody", () => {
  it("is asked for anew at every refresh: groups are those of now, and its token the latest", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const { clientId, answer } = await signIn(harness);
    provider.rechecks.length = 0;
    provider.rechecked = { kind: "there", person: { ...grace, groups: ["sales"], refresh: "provider-refresh-2" } };
    const second = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect(decodeToken(second.body["access_token"]).claims["groups"]).toEqual(["sales"]);
    provider.rechecked = { kind: "there", person: { ...grace, groups: [], refresh: undefined } };
    const third = await refresh(harness, clientId, second.body["refresh_token"]);
    expect(decodeToken(third.body["access_token"]).claims["groups"]).toEqual([]);
    await refresh(harness, clientId, third.body["refresh_token"]);
    expect(provider.rechecks).toEqual(["provider-refresh-1", "provider-refresh-2", "provider-refresh-2"]);
  });

  it("ends the grant when it is gone, also for who signs in again, and the next sign-in goes to the provider", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const browser = createBrowser();
    const { clientId, answer } = await signIn(harness, browser);
    provider.rechecked = { kind: "gone" };
    const refused = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
    const { view } = await goToProvider(harness, browser, clientId);
    expect(view.left?.origin).toBe("https://idp.test");
    provider.rechecked = { kind: "there", person: grace };
    await signIn(harness, createBrowser());
    expect((await refresh(harness, clientId, answer.body["refresh_token"])).body["error"]).toBe("invalid_grant");
  });

  it.each<[string, ProviderRechecked, number]>([
    ["it honours the sign-in no more", { kind: "gone" }, 400],
    ["its answer does not hold", { kind: "unreadable" }, 400],
    ["it answers for somebody else", { kind: "there", person: { ...grace, subject: "p-other" } }, 400],
    ["it cannot be asked", { kind: "unavailable" }, 200],
    ["it cannot say any more, and gave a new token", { kind: "unavailable", refresh: "provider-refresh-2" }, 200],
    ["it is there", { kind: "there", person: grace }, 200],
  ])("a refresh after %s: %o answers %i, for good where it is a no", async (_what, rechecked, status) => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const { clientId, answer } = await signIn(harness);
    provider.rechecked = rechecked;
    const first = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect([first.status, first.body["error"]]).toEqual([status, status === 400 ? "invalid_grant" : undefined]);
    provider.rechecked = { kind: "there", person: grace };
    const later = await refresh(harness, clientId, first.body["refresh_token"] ?? answer.body["refresh_token"]);
    expect(later.status).toBe(status);
  });

  it("a new token of a provider that then could not say more counts next, and vouches for nobody any longer", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const { clientId, answer } = await signIn(harness);
    provider.rechecks.length = 0;
    harness.advance(43_200_000 - 60_000);
    provider.rechecked = { kind: "unavailable", refresh: "provider-refresh-2" };
    const second = await refresh(harness, clientId, answer.body["refresh_token"]);
    provider.rechecked = { kind: "unavailable" };
    const third = await refresh(harness, clientId, second.body["refresh_token"]);
    expect(provider.rechecks).toContain("provider-refresh-1");
    expect(provider.rechecks.at(-1)).toBe("provider-refresh-2");
    harness.advance(60_001);
    expect((await refresh(harness, clientId, third.body["refresh_token"])).body["error"]).toBe("invalid_grant");
  });

  it.each([
    ["a provider that cannot be asked", grace, 3],
    ["a provider that gave no refresh token", { ...grace, refresh: undefined }, 0],
  ])("holds for regrantSeconds and not a moment longer with %s", async (_what, person, rechecks) => {
    const provider = createFakeProvider(person);
    const harness = await start(provider);
    const { clientId, answer } = await signIn(harness);
    provider.rechecks.length = 0;
    provider.rechecked = { kind: "unavailable" };
    harness.advance(43_200_000 - 60_000);
    const second = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect(second.status).toBe(200);
    harness.advance(60_001);
    const late = await refresh(harness, clientId, second.body["refresh_token"]);
    expect([late.status, late.body["error"]]).toEqual([400, "invalid_grant"]);
    expect(provider.rechecks.length).toBeLessThanOrEqual(rechecks);
  });

  it("is asked for once by refreshes at the same moment, on two replicas too", async () => {
    const provider = createFakeProvider();
    const sealer = createTestSealer();
    const broker = { issuer: "https://idp.test", provider, sealer, regrantSeconds: 43_200 };
    const first = await start(provider, { broker });
    const second = await start(provider, { broker, publicUrl: first.server.issuer, records: first.records });
    const { clientId, answer } = await signIn(first);
    provider.rechecks.length = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    provider.rechecked = async () => {
      await held;
      return { kind: "there", person: { ...grace, groups: ["sales"], refresh: "provider-refresh-2" } };
    };
    const both = Promise.all([first, second].map((at) => refresh(at, clientId, answer.body["refresh_token"])));
    while (provider.rechecks.length === 0) await new Promise((resolve) => setImmediate(resolve));
    release();
    const groups = (await both).map(({ body }) => decodeToken(body["access_token"]).claims["groups"]);
    expect(groups).toEqual([["sales"], ["sales"]]);
    expect(provider.rechecks).toEqual(["provider-refresh-1"]);
  });

  it("a sign-in meanwhile knows better than a recheck that began before it", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const { clientId, answer } = await signIn(harness);
    provider.rechecked = async () => {
      provider.rechecked = { kind: "there", person: { ...grace, groups: ["new"] } };
      provider.finished = { ok: true, person: { ...grace, groups: ["new"], refresh: undefined } };
      await signIn(harness);
      return { kind: "gone" };
    };
    const { status, body } = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect([status, decodeToken(body["access_token"]).claims["groups"]]).toEqual([200, ["new"]]);
  });

  it("confines scopes by the groups of now", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider, {
      scopesByGroup: new Map([
        ["support", ["tickets:read"]],
        ["sales", []],
      ]),
    });
    const { clientId, answer } = await signIn(harness);
    expect(answer.body["scope"]).toBe("tickets:read");
    provider.rechecked = { kind: "there", person: { ...grace, groups: ["sales"] } };
    const { body } = await refresh(harness, clientId, answer.body["refresh_token"]);
    expect(JSON.stringify(body["scope"] ?? "")).not.toContain("tickets");
    expect(decodeToken(body["access_token"]).claims["scope"]).toBeUndefined();
  });

  it("rests sealed: neither the provider's tokens, nor verifiers, nor names are in the store", async () => {
    const provider = createFakeProvider();
    const harness = await start(provider);
    const browser = createBrowser();
    const { state } = await goToProvider(harness, browser);
    const waiting = harness.records.dump();
    expect(waiting).toContain("Interaction");
    expect(waiting).not.toContain(state);
    expect(waiting).not.toContain("verifier-1");
    for (const [key, value] of browser.cookies) {
      if (key.startsWith("sallyport_provider")) expect(waiting).not.toContain(value);
    }
    await signIn(harness);
    expect(harness.records.dump()).toContain("oauthPeople");
    expect(harness.records.dump()).not.toMatch(/provider-refresh|Grace H/);
  });
});
