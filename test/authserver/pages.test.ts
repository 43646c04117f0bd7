import { scryptSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBrowser, hiddenToken } from "./browser.ts";
import type { Browser, View } from "./browser.ts";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { ada, authorizationUrl, bob, redirectUri, register, registerPublic, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;
let clientId: string;

beforeAll(async () => {
  harness = await startHarness();
  clientId = await registerPublic(harness);
});

afterAll(() => harness.close());

async function openSignIn(browser: Browser): Promise<View> {
  return browser.open(authorizationUrl(harness, clientId));
}

async function openConsent(browser: Browser): Promise<View> {
  return browser.submit(await openSignIn(browser), { username: ada.username, password: ada.password });
}

describe("every page of ours", () => {
  it.each([
    ["sign-in", openSignIn],
    ["consent", openConsent],
  ])(
    "(%s) loads nothing, runs nothing, cannot be framed, and posts to itself and the client alone",
    async (_n, open) => {
      const view = await open(createBrowser());
      const policy = view.headers.get("content-security-policy") ?? "";
      const nonce = /style-src 'nonce-([\w-]{22})'/.exec(policy)?.[1];
      expect(policy.replace(nonce ?? "", "N")).toBe(
        "default-src 'none'; style-src 'nonce-N'; form-action 'self' http://127.0.0.1:4711; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(view.text).toContain(`<style nonce="${nonce ?? "missing"}">`);
      expect(view.text).not.toMatch(/<script|<link|<img|style="|\son\w+=/i);
      expect(view.headers.get("cache-control")).toBe("no-store");
      expect(view.headers.get("x-frame-options")).toBe("DENY");
      expect(view.headers.get("x-content-type-options")).toBe("nosniff");
      expect(view.text).toContain('<html lang="en">');
      expect(view.text).toContain('name="viewport"');
    },
  );

  it("labels its fields and tells password managers what they are", async () => {
    const { text } = await openSignIn(createBrowser());
    expect(text).toMatch(/<label for="username">/);
    expect(text).toMatch(/<label for="password">/);
    expect(text).toContain('autocomplete="username"');
    expect(text).toContain('autocomplete="current-password"');
  });

  it("escapes what clients and people typed", async () => {
    const { body } = await register(harness, {
      client_name: `<img src=x onerror="alert(1)">&'`,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
    });
    const url = authorizationUrl(harness, String(body["client_id"]), { login_hint: `"><script>1</script>` });
    const view = await createBrowser().open(url);
    expect(view.text).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;&#39;");
    expect(view.text).toContain('value="&quot;&gt;&lt;script&gt;1&lt;/script&gt;"');
    expect(view.text).not.toContain("<script");
  });
});

describe("the consent page", () => {
  it("names client, user, server, scopes and where the browser goes, and warns of self-chosen names", async () => {
    const { text } = await openConsent(createBrowser());
    expect(text).toContain(clientId);
    expect(text).toContain("Ada L");
    expect(text).toContain(`${harness.server.issuer}/support/mcp`);
    expect(text).toContain("<code>tickets:read</code>");
    expect(text).toContain("an application on this computer");
    expect(text).toContain("chose its own name");
  });

  it("is shown again to each client and each time, though the browser is signed in", async () => {
    const browser = createBrowser();
    const first = await browser.submit(await openConsent(browser), {});
    expect(first.left?.searchParams.get("code")).not.toBeNull();
    const web = { redirect_uri: "https://app.test/cb" };
    const webClient = await registerPublic(harness, [web.redirect_uri]);
    const allowed = await browser.submit(await browser.open(authorizationUrl(harness, webClient, web)), {});
    expect(allowed.left?.origin).toBe("https://app.test");
    const again = await browser.open(authorizationUrl(harness, webClient, web));
    expect(again.text).toContain("<h1>Allow access?</h1>");
    for (const id of [clientId, await registerPublic(harness)]) {
      const again = await browser.open(authorizationUrl(harness, id));
      expect([again.status, again.left]).toEqual([200, undefined]);
      expect(again.text).toContain("<h1>Allow access?</h1>");
    }
  });

  it("sends a refusal back to the client as access_denied with iss and state", async () => {
    const browser = createBrowser();
    const { left } = await browser.submit(await openConsent(browser), { action: "cancel" });
    const answer = Object.fromEntries(left?.searchParams ?? []);
    expect(answer).toMatchObject({ error: "access_denied", iss: harness.server.issuer, state: "st/a te" });
    const url = authorizationUrl(harness, clientId);
    const denied = await signInHeadlessly({
      authorizationUrl: url,
      username: ada.username,
      password: ada.password,
      answer: "deny",
    });
    expect(denied.searchParams.get("error")).toBe("access_denied");
  });

  it("can be cancelled before signing in", async () => {
    const browser = createBrowser();
    const { left } = await browser.submit(await openSignIn(browser), { action: "cancel" });
    expect(left?.searchParams.get("error")).toBe("access_denied");
  });

  it("can be reloaded, answers once, and refuses the same answer twice", async () => {
    const browser = createBrowser();
    const page = await openConsent(browser);
    const reloaded = await browser.open(page.url);
    expect(hiddenToken(reloaded)).toBe(hiddenToken(page));
    const first = await browser.submit(page, {});
    expect(first.left?.searchParams.get("code")).not.toBeNull();
    const second = await browser.submit(page, {});
    expect([second.status, second.left]).toEqual([403, undefined]);
  });
});

describe("a form that is not the user's own", () => {
  it.each([
    ["without a token", { token: "" }, {}],
    ["with another token", { token: "x".repeat(43) }, {}],
    ["from another site", {}, { origin: "https://evil.test" }],
    ["from a sandboxed frame", {}, { origin: "null" }],
  ])("is refused %s, and nothing is granted", async (_how, fields, headers) => {
    const browser = createBrowser();
    const page = await openConsent(browser);
    const grants = harness.records.keysOf("oauth").filter((key) => key.includes('"Grant"')).length;
    const view = await browser.submit(page, fields, headers);
    expect([view.status, view.left]).toEqual([403, undefined]);
    expect(harness.records.keysOf("oauth").filter((key) => key.includes('"Grant"'))).toHaveLength(grants);
  });

  it("is refused with the sign-in page's token on the consent page", async () => {
    const browser = createBrowser();
    const signIn = await openSignIn(browser);
    const page = await browser.submit(signIn, { username: ada.username, password: ada.password });
    expect((await browser.submit(page, { token: hiddenToken(signIn) })).status).toBe(403);
  });

  it("is refused in another browser, where the page does not open either", async () => {
    const page = await openConsent(createBrowser());
    const other = createBrowser();
    expect((await other.open(page.url)).status).toBe(403);
    expect((await other.submit(page, {})).status).toBe(403);
    const busy = createBrowser();
    await openConsent(busy);
    expect((await busy.submit(page, {})).status).toBe(403);
  });

  it("does not open at the address of another sign-in", async () => {
    const browser = createBrowser();
    const page = await openSignIn(browser);
    const cookies = [...browser.cookies].map(([key, value]) => `${key.split(";")[0] ?? ""}=${value}`).join("; ");
    const open = async (url: URL): Promise<number> => (await fetch(url, { headers: { cookie: cookies } })).status;
    const elsewhere = new URL(page.url);
    elsewhere.pathname = "/oauth/interaction/x" + "y".repeat(20);
    expect([await open(page.url), await open(elsewhere)]).toEqual([200, 403]);
  });

  it("does not resume in another browser that learned the address", async () => {
    const browser = createBrowser();
    const page = await openConsent(browser);
    const uid = page.url.pathname.split("/").at(-1) ?? "";
    const view = await createBrowser().open(`${harness.origin}/authorize/${uid}`);
    expect([view.status, view.left]).toEqual([400, undefined]);
    expect(view.text).toContain("<title>This request cannot be answered</title>");
  });
});

describe("signing in", () => {
  it.each([
    ["a wrong password", "ada", "wrong"],
    ["another user's password", "ada", bob.password],
    ["an unknown name", "nobody", "correct horse"],
    ["a name that every object has", "constructor", "x"],
    ["nothing", "", ""],
  ])("fails alike with %s", async (_what, username, password) => {
    const browser = createBrowser();
    const view = await browser.submit(await openSignIn(browser), { username, password });
    expect(view.status).toBe(403);
    expect(view.text).toContain("The user name or the password is wrong.");
    expect(JSON.stringify(harness.events)).not.toContain("wrong");
  });

  it("is possible ten times in a quarter of an hour for one user, however many guess at once", async () => {
    const guarded = await startHarness();
    const id = await registerPublic(guarded);
    const browser = createBrowser();
    const page = await browser.open(authorizationUrl(guarded, id));
    const views: View[] = [];
    for (let batch = 0; batch < 4; batch += 1) {
      const guesses = Array.from({ length: 3 }, () => browser.submit(page, { username: "ada", password: "wrong" }));
      views.push(...(await Promise.all(guesses)));
    }
    expect(views.map(({ status }) => status).sort()).toEqual([...Array<number>(10).fill(403), 429, 429]);
    const right = await browser.submit(page, { username: "ada", password: ada.password });
    expect([right.status, right.headers.get("retry-after")]).toEqual([429, "900"]);
    const other = await browser.submit(page, { username: "bob", password: bob.password });
    expect(other.text).toContain("<h1>Allow access?</h1>");
    await guarded.close();
  });

  it("counts no success", async () => {
    const guarded = await startHarness();
    const id = await registerPublic(guarded);
    for (let at = 0; at < 11; at += 1) {
      const url = authorizationUrl(guarded, id);
      const redirect = await signInHeadlessly({ authorizationUrl: url, username: "bob", password: bob.password });
      expect(redirect.searchParams.get("code")).not.toBeNull();
    }
    await guarded.close();
  });

  it("checks four passwords at once and asks the fifth to wait", async () => {
    const guarded = await startHarness();
    const id = await registerPublic(guarded);
    const browser = createBrowser();
    const page = await browser.open(authorizationUrl(guarded, id));
    const names = Array.from({ length: 12 }, (_, at) => `user${String(at)}`);
    const views = await Promise.all(names.map((username) => browser.submit(page, { username, password: "x" })));
    const statuses = views.map(({ status }) => status);
    expect(statuses.filter((status) => status === 403).length).toBeGreaterThanOrEqual(4);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(0);
    await guarded.close();
  });

  it("as somebody else ends the first one's session without a page of the library's", async () => {
    const browser = createBrowser();
    await openConsent(browser);
    const page = await browser.open(authorizationUrl(harness, clientId, { prompt: "login" }));
    expect(page.text).toContain("<h1>Sign in</h1>");
    const consent = await browser.submit(page, { username: bob.username, password: bob.password });
    expect(consent.text).toContain("Bob");
    expect((await browser.submit(consent, {})).left?.searchParams.get("code")).not.toBeNull();
  });

  it("is asked for again when the account is gone from the configuration", async () => {
    const browser = createBrowser();
    await openConsent(browser);
    const second = await startHarness({ users: [bob], records: harness.records, servers: ["support"] });
    const page = await createBrowser(new Map(browser.cookies)).open(
      authorizationUrl(second, clientId, { resource: undefined }),
    );
    expect([page.status, page.text.includes("<h1>Sign in</h1>")]).toEqual([200, true]);
    await second.close();
  });

  it("accepts a scrypt hash in place of a password, and refuses a malformed or costly one at the start", async () => {
    const salt = Buffer.from("0123456789abcdef");
    const key = scryptSync("s3cret", salt, 32, { N: 1_024, r: 8, p: 1 });
    const password = `scrypt:1024:8:1:${salt.toString("base64url")}:${key.toString("base64url")}`;
    const hashed = await startHarness({ users: [{ ...ada, password }] });
    const url = authorizationUrl(hashed, await registerPublic(hashed));
    await expect(
      signInHeadlessly({ authorizationUrl: url, username: "ada", password: "s3cret" }),
    ).resolves.toBeDefined();
    await expect(signInHeadlessly({ authorizationUrl: url, username: "ada", password })).rejects.toThrow("403");
    await hashed.close();
    for (const wrong of ["scrypt:1024:8:1:AA:AA", "scrypt:1048576:8:1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAA"]) {
      await expect(startHarness({ users: [{ ...ada, password: wrong }] })).rejects.toThrow('user "ada"');
    }
  });
});
