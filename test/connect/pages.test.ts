import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { refuse } from "../../src/model/refusal.ts";
import { createBrowser, hiddenToken } from "../authserver/browser.ts";
import type { Browser, View } from "../authserver/browser.ts";
import { people, providerUrl, startBench, upstreamIssuer } from "./connect-bench.ts";
import type { Bench } from "./connect-bench.ts";

let bench: Bench;
let browser: Browser;

beforeEach(async () => {
  bench = await startBench();
  browser = createBrowser();
});
afterEach(() => bench.close());

const ada = { ...people["ada"]!.person, clientId: "desktop" };

/** Sends the page's form to where the form says, and not to the page itself. */
function post(view: View, path: string, fields: Record<string, string>, by: Browser = browser): Promise<View> {
  return by.submit({ ...view, url: new URL(path, bench.origin) }, { token: hiddenToken(view), ...fields });
}

async function signInAs(username: string, at = "/connect", by: Browser = browser): Promise<View> {
  const page = await by.open(bench.origin + at);
  return post(page, "/connect/sign-in", { way: "local", target: at, username, password: "right" }, by);
}

function linkPath(upstream = "tickets", owner = ada): string {
  return bench.links.make(owner, upstream).slice(bench.origin.length);
}

describe("signing in on the connect pages", () => {
  it("whoever is not signed in is asked to, and nothing of anybody is shown", async () => {
    const view = await browser.open(`${bench.origin}/connect`);
    expect(view.status).toBe(200);
    expect(view.text).toContain("<h1>Sign in</h1>");
    expect(view.text).not.toContain("Support");
  });

  it("a password leads to the page that was asked for", async () => {
    const view = await signInAs("ada");
    expect(view.url.pathname).toBe("/connect");
    expect(view.text).toContain("Ada &lt;i&gt;L&lt;/i&gt;");
    expect(view.text).toContain("local:support");
  });

  it.each([
    ["wrong", 403, "The user name or the password is wrong."],
    ["limited", 429, "There were too many attempts."],
    ["busy", 503, "Many people are signing in right now."],
  ])("a password that is %s is answered with %d, and nobody is signed in", async (password, status, text) => {
    const page = await browser.open(`${bench.origin}/connect`);
    const view = await post(page, "/connect/sign-in", { way: "local", username: "ada", password });
    expect(view.status).toBe(status);
    expect(view.text).toContain(text);
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("the session's id changes at sign-in: an id that somebody planted signs nobody in", async () => {
    await browser.open(`${bench.origin}/connect`);
    const before = [...browser.cookies.values()];
    await signInAs("ada");
    expect([...browser.cookies.values()]).not.toEqual(before);
    const planted = createBrowser(new Map([["sallyport_browser;/", before[0] ?? ""]]));
    expect((await planted.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("ends after its life, and when the person signs out", async () => {
    const home = await signInAs("ada");
    await post(home, "/connect/sign-out", {});
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
    await signInAs("ada");
    bench.advance(limits.browserSessionMs - 1_000);
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("Your connections");
    bench.advance(1_001);
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("signing out ends the session itself, not the cookie alone", async () => {
    const home = await signInAs("ada");
    const copied = createBrowser(new Map(browser.cookies));
    await post(home, "/connect/sign-out", {});
    expect((await copied.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("whoever is put on the deny list is signed out with the next request, and cannot sign in again", async () => {
    await signInAs("ada");
    bench.denied.add("ada");
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
    expect((await signInAs("ada")).status).toBe(403);
    bench.denied.clear();
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("a store that is down is a 503 page", async () => {
    await signInAs("ada");
    bench.records.setDown(true);
    const view = await browser.open(`${bench.origin}/connect`);
    expect(view.status).toBe(503);
    expect(view.headers.get("retry-after")).toBe("1");
    expect(bench.refusals.at(-1)?.code).toBe("STORE_UNAVAILABLE");
  });

  it("what rests in the store names neither person nor cookie", async () => {
    await signInAs("ada");
    const cookie = browser.cookies.get("sallyport_browser;/") ?? "none";
    expect(bench.records.keysOf("browser-session")).toHaveLength(1);
    for (const text of [cookie, "Ada", "ada", "support"]) expect(bench.records.dump()).not.toContain(text);
  });

  it("strangers leave nothing in the store", async () => {
    for (const path of ["/connect", "/connect/sign-in?way=corp", "/connect/tickets"])
      await createBrowser().open(bench.origin + path);
    expect(bench.records.dump()).not.toMatch(/browser/);
  });
});

describe("signing in at a provider", () => {
  const begin = async (by: Browser = browser, target = "/connect"): Promise<string> => {
    const query = new URLSearchParams({ way: "corp", target });
    const { left } = await by.open(`${bench.origin}/connect/sign-in?${query.toString()}`);
    expect(left?.href.startsWith(providerUrl)).toBe(true);
    return left?.searchParams.get("state") ?? "";
  };

  it("returns to the page that was asked for", async () => {
    const state = await begin(browser, "/connect/tickets");
    const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
    expect(view.url.pathname).toBe("/connect/tickets");
    expect(view.text).toContain("Connect Tickets?");
  });

  it("in another browser the callback is refused as CONNECT_ATTEMPT_LOST with 403", async () => {
    const state = await begin();
    const other = createBrowser();
    const view = await other.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
    expect(view.status).toBe(403);
    expect(bench.refusals.at(-1)?.code).toBe("CONNECT_ATTEMPT_LOST");
    expect((await other.open(`${bench.origin}/connect`)).text).toContain("<h1>Sign in</h1>");
  });

  it("an attempt is good once, and for its time", async () => {
    const state = await begin();
    expect((await browser.open(`${bench.origin}/connect/callback?code=zoe&state=${state}`)).status).toBe(403);
    expect((await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`)).status).toBe(403);
    expect(bench.refusals.map(({ code }) => code)).toEqual(["SIGNIN_ANSWER_INVALID", "CONNECT_ATTEMPT_LOST"]);
    const late = await begin();
    bench.advance(limits.browserAttemptMs);
    expect((await browser.open(`${bench.origin}/connect/callback?code=ada&state=${late}`)).status).toBe(403);
    expect(bench.refusals.at(-1)?.code).toBe("CONNECT_ATTEMPT_LOST");
  });

  it("one attempt cannot be finished with the state of another, nor used up by it", async () => {
    const [mine, theirs] = [await begin(), await begin(createBrowser())];
    expect(mine).not.toBe(theirs);
    for (const query of [`code=ada&state=${theirs}`, "code=ada"])
      expect((await browser.open(`${bench.origin}/connect/callback?${query}`)).status).toBe(403);
    const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${mine}`);
    expect([view.status, view.url.pathname]).toEqual([200, "/connect"]);
  });

  it("several that one browser has begun each come back to their own page, in whatever order", async () => {
    const states: (readonly [state: string, target: string])[] = [];
    for (const target of ["/connect/tickets", "/connect", "/connect/crm"])
      states.push([await begin(browser, target), target]);
    for (const [state, target] of states.toReversed()) {
      const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
      expect(view.url.pathname).toBe(target);
    }
  });

  it("so many at a time are kept that no request grows too large; the oldest is forgotten first", async () => {
    const owner = { ...ada, clientId: `https://client.example/${"x".repeat(400)}` };
    const states: string[] = [];
    for (let index = 0; index < limits.browserSignInsMax + 2; index += 1) {
      states.push(await begin(browser, linkPath("tickets", owner)));
      bench.advance(1);
    }
    const begun = [...browser.cookies].filter(([name]) => name.includes("sign_in"));
    expect(begun).toHaveLength(limits.browserSignInsMax);
    for (const [, value] of begun) expect(value.length).toBeGreaterThan(limits.browserCookieCharsMax / 2);
    expect(limits.browserSignInsMax * (limits.browserCookieCharsMax + 50)).toBeLessThan(0.6 * limits.headerBytesMax);
    const statuses: number[] = [];
    for (const state of states)
      statuses.push((await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`)).status);
    expect(statuses).toEqual(states.map((_, index) => (index < 2 ? 403 : 200)));
  });

  it.each([
    ["a line break", "/connect?x=\r\nSet-Cookie: a=b"],
    ["what no header may hold", "/connect?x=\u6f22"],
  ])("a target with %s leads to the page all the same", async (_, target) => {
    const state = await begin(browser, target);
    const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
    expect([view.status, view.url.pathname]).toEqual([200, "/connect"]);
    expect([...browser.cookies.keys()].join()).not.toContain("a;");
  });

  it.each([
    "https://evil.example/connect",
    "//evil.example",
    "/\\evil.example",
    "/connect/sign-in?way=corp",
    "/connect/../authorize",
    "/support/mcp",
    "javascript:alert(1)",
  ])("never leads on to %s", async (target) => {
    const state = await begin(browser, target);
    const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
    expect([view.left, view.url.pathname]).toEqual([undefined, "/connect"]);
  });

  it("a link too long for the cookie is let go, and the person is signed in all the same", async () => {
    const owner = { ...ada, clientId: `https://client.example/${"x".repeat(3_000)}` };
    const state = await begin(browser, linkPath("tickets", owner));
    for (const value of browser.cookies.values())
      expect(value.length).toBeLessThanOrEqual(limits.browserCookieCharsMax);
    const view = await browser.open(`${bench.origin}/connect/callback?code=ada&state=${state}`);
    expect(view.url.pathname).toBe("/connect");
  });
});

describe("forms", () => {
  const forms = ["/connect/sign-in", "/connect/sign-out", "/connect/revoke", "/connect/tickets"];

  it.each(forms)("%s without the browser's token is refused as CONNECT_FORM_REFUSED", async (path) => {
    const home = await signInAs("ada");
    for (const token of ["", "x".repeat(43)]) expect((await post(home, path, { token })).status).toBe(403);
    expect(bench.refusals.map(({ code }) => code)).toEqual(["CONNECT_FORM_REFUSED", "CONNECT_FORM_REFUSED"]);
    expect(bench.grants.calls).toEqual([]);
  });

  it.each(forms)("%s with the token of another browser is refused", async (path) => {
    const theirs = await signInAs("bob", "/connect", createBrowser());
    const home = await signInAs("ada");
    expect((await post(home, path, { token: hiddenToken(theirs) })).status).toBe(403);
  });

  it.each(forms)("%s from another origin is refused", async (path) => {
    const home = await signInAs("ada");
    const view = await browser.submit(
      { ...home, url: new URL(path, bench.origin) },
      {},
      { origin: "https://evil.example" },
    );
    expect(view.status).toBe(403);
  });

  it.each([
    ["GET", "/connect/revoke", 405],
    ["POST", "/connect", 405],
    ["DELETE", "/connect/tickets", 405],
    ["GET", "/connect/no/such", 404],
    ["GET", "/connect/.%2e", 404],
  ])("%s %s is answered with %d", async (method, path, status) => {
    const response = await fetch(bench.origin + path, { method });
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "text/html; charset=utf-8"]);
  });

  it("a body over the bound is refused", async () => {
    const home = await signInAs("ada");
    const view = await post(home, "/connect/revoke", { upstream: "x".repeat(limits.oauthBodyBytesMax) });
    expect(view.status).toBe(413);
  });
});

describe("a link of the gateway", () => {
  it("opened by its person shows who asks for what, at which authorization server, and takes the consent", async () => {
    const page = await signInAs("ada", linkPath());
    for (const text of ["Desk &amp; Top (desktop)", "Tickets", "tickets:read", upstreamIssuer])
      expect(page.text).toContain(text);
    const onward = await browser.submit(page, { link: new URL(page.url).searchParams.get("link") ?? "" });
    expect(onward.status).toBe(200);
    expect(onward.text).toContain(`content="0; url=${upstreamIssuer}/authorize?state=s1"`);
    expect(bench.grants.calls).toEqual([
      {
        name: "begin",
        about: {
          person: people["ada"]?.person,
          clientId: "desktop",
          upstream: "tickets",
          redirectUri: `${bench.origin}/connect/granted`,
        },
      },
    ]);
    const done = await browser.open(`${bench.origin}/connect/granted?code=c1&state=s1`);
    expect(done.text).toContain("Connected");
    expect((await browser.open(`${bench.origin}/connect`)).text).toContain("Used by: Desk &amp; Top (desktop)");
  });

  it("of Ada opened by Bob is refused as CONNECT_NOT_YOURS with 403, read or answered", async () => {
    const page = await signInAs("bob", linkPath());
    expect(page.status).toBe(403);
    const link = new URL(page.url).searchParams.get("link") ?? "";
    const home = await browser.open(`${bench.origin}/connect`);
    expect((await post(home, "/connect/tickets", { link, action: "go" })).status).toBe(403);
    expect(bench.refusals.map(({ code }) => code)).toEqual(["CONNECT_NOT_YOURS", "CONNECT_NOT_YOURS"]);
    expect(bench.grants.calls).toEqual([]);
  });

  it.each([
    ["tenant", { ...ada, tenant: "acme" }],
    ["issuer", { ...ada, issuer: "https://other.example" }],
    ["subject", { ...ada, subject: "ADA" }],
  ])("for another %s is not this person's", async (_, owner) => {
    expect((await signInAs("ada", linkPath("tickets", owner))).status).toBe(403);
  });

  it("carries no authority: it signs nobody in, and shows a stranger only the ways to sign in", async () => {
    const page = await browser.open(bench.origin + linkPath());
    expect(page.text).toContain("<h1>Sign in</h1>");
    expect(page.text).toContain('name="username"');
    expect(page.text).not.toContain("login.corp.example");
    expect(page.text).not.toMatch(/Desk|tickets:read/);
  });

  it.each([
    ["altered", () => linkPath().replace(/..$/, (end) => (end === "AA" ? "BB" : "AA"))],
    ["of another upstream", () => linkPath("crm").replace("/connect/crm", "/connect/tickets")],
    ["made up", () => "/connect/tickets?link=v1.k1.AAAAAAAAAAAAAAAA.AAAA"],
    ["to nowhere", () => "/connect/nowhere"],
    ["to what policy hides, without a handle", () => "/connect/crm"],
  ])("%s is refused as CONNECT_LINK_INVALID with 400", async (_, path) => {
    await signInAs("ada");
    const response = await browser.open(bench.origin + path());
    expect([response.status, bench.refusals.at(-1)?.code]).toEqual([400, "CONNECT_LINK_INVALID"]);
  });

  it("leads to what policy shows with some client alone, and a grant there stays its owner's to see", async () => {
    expect((await signInAs("ada", linkPath("crm"))).text).toContain("Connect CRM?");
    bench.grants.grants.set("ada crm", { connected: true, scopes: [], clients: [], issuer: upstreamIssuer });
    expect((await browser.open(`${bench.origin}/connect/crm`)).status).toBe(200);
  });

  it("is good for its time, and not longer", async () => {
    const path = linkPath();
    bench.advance(limits.connectLinkMs - 60_000);
    expect((await signInAs("ada", path)).status).toBe(200);
    bench.advance(60_000);
    expect((await signInAs("ada", path)).status).toBe(400);
  });

  it("longer than the bound is not looked at", () => {
    const handleOf = (chars: number): string =>
      bench.links.make({ ...ada, clientId: "x".repeat(chars) }, "tickets").split("link=")[1] ?? "";
    const [fitting, over] = [handleOf(5_900), handleOf(6_200)];
    expect(fitting.length).toBeLessThanOrEqual(limits.connectLinkCharsMax);
    expect(bench.links.open(fitting, "tickets")).toBeDefined();
    expect(over.length).toBeGreaterThan(limits.connectLinkCharsMax);
    expect(bench.links.open(over, "tickets")).toBeUndefined();
  });

  it("says nothing of its owner in clear", () => {
    const link = bench.links.make(ada, "tickets");
    for (const text of ["ada", "desktop", "issuer.example"]) expect(link).not.toContain(text);
  });
});

describe("consent", () => {
  const grant = { connected: true, scopes: [], since: 0, clients: ["cli"], issuer: upstreamIssuer };
  const answer = async (action: string, path = linkPath()): Promise<View> => {
    const page = await signInAs("ada", path);
    return browser.submit(page, { link: new URL(page.url).searchParams.get("link") ?? "", action });
  };

  it("where a grant is there opens it to one more client, without the authorization server", async () => {
    bench.grants.grants.set("ada tickets", grant);
    expect((await answer("go")).text).toContain("Connected");
    expect(bench.grants.calls).toEqual([
      { name: "consent", about: { subject: "ada", clientId: "desktop", upstream: "tickets" } },
    ]);
  });

  it("where the grant has to be given again leads to the authorization server", async () => {
    bench.grants.grants.set("ada tickets", { ...grant, reason: "a scope is missing" });
    await answer("go");
    expect(bench.grants.calls.map(({ name }) => name)).toEqual(["begin"]);
  });

  it("that is declined changes nothing", async () => {
    expect((await answer("cancel")).text).toContain("Nothing was changed");
    expect(bench.grants.calls).toEqual([]);
  });

  it("without a link is for the person alone and admits no client", async () => {
    await answer("go", "/connect/tickets");
    expect(bench.grants.calls).toMatchObject([{ name: "begin", about: { clientId: "" } }]);
  });

  it("is finished in the browser session that began it, once", async () => {
    await answer("go");
    const other = createBrowser();
    await signInAs("ada", "/connect", other);
    const url = `${bench.origin}/connect/granted?code=c1&state=s1`;
    expect((await other.open(url)).status).toBe(403);
    expect((await createBrowser().open(url)).status).toBe(403);
    expect((await browser.open(url)).status).toBe(200);
    expect((await browser.open(url)).status).toBe(403);
    expect(bench.refusals.map(({ code }) => code)).toEqual(Array(3).fill("CONNECT_ATTEMPT_LOST"));
    expect(bench.grants.calls.filter(({ name }) => name === "finish")).toHaveLength(1);
  });

  it("that is under way survives an answer that somebody else's page sends the browser with", async () => {
    await answer("go");
    expect((await browser.open(`${bench.origin}/connect/granted?code=c1&state=forged`)).status).toBe(403);
    expect((await browser.open(`${bench.origin}/connect/granted?code=c1&state=s1`)).status).toBe(200);
  });

  it("to two upstreams that one browser has begun at once is finished for each, in whatever order", async () => {
    const first = await signInAs("ada", linkPath());
    const second = await browser.open(bench.origin + linkPath("crm"));
    for (const page of [first, second])
      await browser.submit(page, { link: new URL(page.url).searchParams.get("link") ?? "", action: "go" });
    for (const state of ["s2", "s1"])
      expect((await browser.open(`${bench.origin}/connect/granted?code=c&state=${state}`)).status).toBe(200);
    expect([...bench.grants.grants.keys()]).toEqual(["ada crm", "ada tickets"]);
  });

  it("that a person began before somebody else signed in over them is not finished by the other", async () => {
    await answer("go");
    await post(await browser.open(`${bench.origin}/connect`), "/connect/sign-out", {});
    await signInAs("bob");
    expect((await browser.open(`${bench.origin}/connect/granted?code=c1&state=s1`)).status).toBe(403);
    expect(bench.grants.calls.map(({ name }) => name)).toEqual(["begin"]);
  });

  it("is not asked while nobody can say what it would be for", async () => {
    bench.grants.fault = refuse("UPSTREAM_UNREACHABLE").refusal;
    const page = await signInAs("ada", linkPath());
    expect(page.status).toBe(502);
    expect(page.text).not.toContain("<button>Connect");
  });
});

describe("the home page", () => {
  const grant = { connected: true, scopes: ["tickets:read"], since: 0, clients: ["cli"], issuer: upstreamIssuer };

  it("shows the upstreams that one may use, and those where one has a grant", async () => {
    expect((await signInAs("ada")).text).not.toContain("CRM");
    bench.grants.grants.set("ada crm", grant);
    const { text } = await browser.open(`${bench.origin}/connect`);
    expect(text).toContain("CRM");
    expect(text).toContain("Connected since 1970-01-01");
    expect(text).toContain("Used by: cli.");
  });

  it("shows nothing of another person's grants", async () => {
    bench.grants.grants.set("ada tickets", grant);
    expect((await signInAs("bob")).text).toContain("Not connected.");
  });

  it("revokes one's own grant, and says whether the service was told", async () => {
    bench.grants.grants.set("ada tickets", grant);
    bench.grants.grants.set("bob tickets", grant);
    const home = await signInAs("ada");
    expect((await post(home, "/connect/revoke", { upstream: "tickets" })).text).toContain(
      "It was ended at the service too.",
    );
    expect((await post(home, "/connect/revoke", { upstream: "tickets" })).text).toContain("The service was not told");
    expect(bench.grants.grants.has("bob tickets")).toBe(true);
    expect((await post(home, "/connect/revoke", { upstream: "nowhere" })).status).toBe(400);
  });

  it("tells how to connect four clients to each server, with its URL", async () => {
    const { text } = await signInAs("ada");
    const url = `${bench.origin}/support/mcp`;
    for (const command of [
      `claude mcp add --transport http support ${url}`,
      `code --add-mcp &#39;{&quot;name&quot;:&quot;support&quot;,&quot;type&quot;:&quot;http&quot;,&quot;url&quot;:&quot;${url}&quot;}&#39;`,
      "&quot;mcpServers&quot;",
      `codex mcp add support --url ${url}`,
      "codex mcp login support",
    ])
      expect(text).toContain(command);
  });
});

describe("every page", () => {
  it("is of this origin alone: no script, no frame, nothing loaded, no referrer elsewhere, not stored", async () => {
    const views = [
      await browser.open(`${bench.origin}/connect`),
      await signInAs("ada"),
      await browser.open(bench.origin + linkPath()),
      await browser.open(`${bench.origin}/connect/granted`),
      await browser.open(`${bench.origin}/connect/no/such`),
    ];
    for (const { headers, text } of views) {
      const policy = headers.get("content-security-policy") ?? "";
      const nonce = /style-src 'nonce-([\w-]+)'/.exec(policy)?.[1] ?? "none";
      expect(policy).toMatch(
        /^default-src 'none'; style-src [^;]+; form-action '(self|none)'; frame-ancestors 'none'; base-uri 'none'$/,
      );
      expect(text).toContain(`<style nonce="${nonce}">`);
      expect(text).not.toMatch(/<script|javascript:|src=|<link|@import|url\(/i);
      expect(headers.get("referrer-policy")).toBe("same-origin");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(text).toContain('<html lang="en">');
      expect(text).toContain('name="viewport" content="width=device-width, initial-scale=1"');
      expect(text.match(/<h1>/g)).toHaveLength(1);
    }
    expect(new Set(views.map(({ headers }) => headers.get("content-security-policy"))).size).toBe(views.length);
  });

  it("labels its fields, and names buttons that stand several times apart", async () => {
    const page = await browser.open(`${bench.origin}/connect`);
    for (const id of ["username", "password"]) expect(page.text).toContain(`<label for="${id}">`);
    bench.grants.grants.set("ada tickets", { connected: true, scopes: [], clients: [], issuer: upstreamIssuer });
    expect((await signInAs("ada")).text).toContain('aria-label="Revoke Tickets"');
  });

  it("over https sets __Host- cookies, Secure, HttpOnly and Lax", async () => {
    await bench.close();
    bench = await startBench({ publicUrl: "https://mcp.example.com" });
    const response = await fetch(`${bench.origin}/connect/sign-in?way=corp`, { redirect: "manual" });
    const cookies = response.headers.getSetCookie();
    expect(cookies).toHaveLength(2);
    for (const cookie of cookies)
      expect(cookie).toMatch(
        /^__Host-sallyport_(browser|sign_in_[\w-]+)=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
  });
});
