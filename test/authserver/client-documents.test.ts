import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { GuardedFetch } from "../../src/authserver/port.ts";
import { isDocumentClientId } from "../../src/authserver/client-document.ts";
import { createGuardedFetch } from "../../src/upstream/egress.ts";
import { createBrowser } from "./browser.ts";
import {
  ada,
  answerOf,
  authorizationUrl,
  decodeToken,
  exchange,
  obtainCode,
  refresh,
  startHarness,
} from "./harness.ts";
import type { Changes, Harness } from "./harness.ts";

const clientId = "https://client.test/oauth/metadata.json";
const document = {
  client_id: clientId,
  client_name: "Desk",
  redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

let opened: Harness | undefined;

afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

async function start(changes: Changes): Promise<Harness> {
  opened = await startHarness(changes);
  return opened;
}

/** A web of one document, and how often it was asked for. */
interface Web {
  readonly fetch: GuardedFetch;
  readonly asked: string[];
  answer: () => Response;
}

function webOf(body: unknown, init: ResponseInit = {}): Web {
  const asked: string[] = [];
  const web: Web = {
    asked,
    answer: () => jsonResponse(body, init),
    fetch: (url) => {
      asked.push(String(url));
      return Promise.resolve().then(() => web.answer());
    },
  };
  return web;
}

function jsonResponse(body: unknown, init: ResponseInit = {}): Response {
  const headers = new Headers({ "content-type": "application/json" });
  for (const [name, value] of Object.entries(init.headers ?? {})) headers.set(name, String(value));
  return new Response(JSON.stringify(body), { ...init, headers });
}

async function titleAt(harness: Harness, id = clientId): Promise<string | undefined> {
  const url = authorizationUrl(harness, id, { redirect_uri: "http://127.0.0.1:4711/callback" });
  return /<h1>([^<]*)/.exec((await createBrowser().open(url)).text)?.[1];
}

const refused = "This request cannot be answered";

describe("a client whose id is the URL of its metadata document", () => {
  it("is offered in the metadata", async () => {
    const harness = await start({ fetchPublic: webOf(document).fetch });
    const { body } = await answerOf(await fetch(`${harness.origin}/.well-known/oauth-authorization-server`));
    expect(body["client_id_metadata_document_supported"]).toBe(true);
  });

  it("signs somebody in at an ephemeral loopback port, and refreshes, with its document read once", async () => {
    const web = webOf(document);
    const harness = await start({ fetchPublic: web.fetch });
    const flow = await obtainCode(harness, {}, clientId);
    const first = await exchange(harness, flow);
    expect(decodeToken(first.body["access_token"]).claims).toMatchObject({ client_id: clientId, sub: "u-ada" });
    expect((await refresh(harness, clientId, first.body["refresh_token"])).status).toBe(200);
    expect(web.asked).toEqual([clientId]);
  });

  it("is shown with the host that describes it, and only as claiming its name", async () => {
    const harness = await start({ fetchPublic: webOf(document).fetch });
    const browser = createBrowser();
    const page = await browser.open(authorizationUrl(harness, clientId));
    const consent = await browser.submit(page, { username: ada.username, password: ada.password });
    expect(consent.text).toMatch(/<strong>Desk<\/strong> asks to act for you/);
    expect(consent.text).toMatch(/<strong>client\.test<\/strong> says that this is what/);
  });

  it.each<[string, unknown, ResponseInit]>([
    ["names another client_id", { ...document, client_id: "https://client.test/other" }, {}],
    ["names no client_id", { ...document, client_id: undefined }, {}],
    ["holds a secret", { ...document, client_secret: "s" }, {}],
    ["holds a secret's expiry", { ...document, client_secret_expires_at: 0 }, {}],
    ["asks for a shared secret", { ...document, token_endpoint_auth_method: "client_secret_basic" }, {}],
    ["proves itself with keys that are not there", { ...document, token_endpoint_auth_method: "private_key_jwt" }, {}],
    [
      "shows a private key",
      {
        ...document,
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [{ kty: "EC", crv: "P-256", x: "a", y: "b", d: "c" }] },
      },
      {},
    ],
    [
      "has its keys in clear",
      { ...document, token_endpoint_auth_method: "private_key_jwt", jwks_uri: "http://client.test/keys" },
      {},
    ],
    ["has no acceptable redirect URI", { ...document, redirect_uris: ["http://client.test/cb"] }, {}],
    ["has no redirect URI", { ...document, redirect_uris: [] }, {}],
    ["wants client credentials alone", { ...document, grant_types: ["client_credentials"] }, {}],
    ["is a list", [document], {}],
    ["is sent as a page", document, { headers: { "content-type": "text/html" } }],
    ["is not found", document, { status: 404 }],
    ["is elsewhere", document, { status: 302, headers: { location: "https://other.test/" } }],
    ["is created", document, { status: 201 }],
  ])("is refused when its document %s", async (_what, body, init) => {
    const harness = await start({ fetchPublic: webOf(body, init).fetch });
    expect(await titleAt(harness)).toBe(refused);
    const answer = await refresh(harness, clientId, "none");
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_client"]);
  });

  it.each(["{", '{"client_id":"a","client_id":"b"}', ""])("is refused when its document is %j", async (text) => {
    const headers = { "content-type": "application/json" };
    const harness = await start({ fetchPublic: () => Promise.resolve(new Response(text, { headers })) });
    expect(await titleAt(harness)).toBe(refused);
  });

  it.each<[string, () => Response]>([
    ["fails", () => new Response("", { status: 503 })],
    ["has had enough", () => new Response("", { status: 429 })],
    [
      "cannot be reached",
      () => {
        throw new Error("connect ECONNREFUSED");
      },
    ],
  ])(
    "is asked to come again while its server %s, so that it does not throw its sign-in away",
    async (_what, answer) => {
      const web = webOf(document);
      web.answer = answer;
      const harness = await start({ fetchPublic: web.fetch });
      const { status, body, headers } = await refresh(harness, clientId, "none");
      expect([status, body["error"], headers.get("retry-after")]).toEqual([503, "temporarily_unavailable", "1"]);
    },
  );
});

describe("the memory of metadata documents", () => {
  it.each([
    ["says nothing", undefined, 300_000],
    ["says ten minutes", "public, max-age=600", 600_000],
    ["says a second", "max-age=1", 60_000],
    ["says a year", "max-age=31536000", 3_600_000],
    ["says no-store", "no-store, max-age=600", 60_000],
  ])("lasts, when the server %s, as long as it says within a minute and an hour", async (_what, control, ageMs) => {
    const web = webOf(document, control === undefined ? {} : { headers: { "cache-control": control } });
    const harness = await start({ fetchPublic: web.fetch });
    expect(await titleAt(harness)).toBe("Sign in");
    harness.advance(ageMs - 5_000);
    expect(await titleAt(harness)).toBe("Sign in");
    expect(web.asked).toHaveLength(1);
    harness.advance(5_001);
    web.answer = () => jsonResponse({ ...document, redirect_uris: ["https://moved.test/cb"] });
    expect(await titleAt(harness)).not.toBe("Sign in");
    expect(web.asked).toHaveLength(2);
  });

  it("serves the last good reading for a day while the server fails, and no longer", async () => {
    const web = webOf(document);
    const harness = await start({ fetchPublic: web.fetch });
    expect(await titleAt(harness)).toBe("Sign in");
    web.answer = () => new Response("", { status: 500 });
    harness.advance(86_400_000 - 60_000);
    expect(await titleAt(harness)).toBe("Sign in");
    harness.advance(120_000);
    expect(await titleAt(harness)).toBe(refused);
    web.answer = () => jsonResponse(document);
    harness.advance(10_001);
    expect(await titleAt(harness)).toBe("Sign in");
  });

  it("a document that became unusable serves no more, whatever it was before", async () => {
    const web = webOf(document);
    const harness = await start({ fetchPublic: web.fetch });
    expect(await titleAt(harness)).toBe("Sign in");
    web.answer = () => new Response("", { status: 404 });
    harness.advance(300_001);
    expect(await titleAt(harness)).toBe(refused);
  });

  it("keeps strangers from making the gateway fetch: a refusal is remembered, and 120 fetches a minute are all", async () => {
    const web = webOf({});
    const harness = await start({ fetchPublic: web.fetch });
    await titleAt(harness);
    await titleAt(harness);
    const asked = web.asked.length;
    expect(asked).toBe(1);
    for (let at = 0; at < 130; at += 1) {
      const id = `https://client.test/${String(at)}`;
      await fetch(`${harness.origin}/token`, {
        method: "POST",
        body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: "x", client_id: id }),
      });
    }
    expect(web.asked).toHaveLength(120);
  });

  it("asks once for many who ask at the same moment", async () => {
    const web = webOf(document);
    const harness = await start({ fetchPublic: web.fetch });
    const titles = await Promise.all(Array.from({ length: 5 }, () => titleAt(harness)));
    expect([new Set(titles), web.asked.length]).toEqual([new Set(["Sign in"]), 1]);
  });
});

describe("what the URL of a metadata document may lead to", () => {
  const answers: Readonly<Record<string, readonly string[]>> = {
    "loopback.test": ["127.0.0.1"],
    "loopback6.test": ["::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "link-local.test": ["169.254.169.254"],
    "private.test": ["10.0.0.8"],
    "carrier.test": ["100.64.0.1"],
    "half.test": ["203.0.113.9", "10.0.0.8"],
  };
  const ids = [
    ...Object.keys(answers).map((host) => `https://${host}/client.json`),
    "https://127.0.0.1/client.json",
    "https://[::1]/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.8/client.json",
    "https://localhost/client.json",
  ];

  it.each(ids)("never leads inside: %s", async (id) => {
    const listener = await startListener();
    const url = new URL(id);
    url.port = String(listener.port);
    const looked: string[] = [];
    const fetchPublic = guardWith((host) => {
      looked.push(host);
      return answers[host] ?? ["127.0.0.1"];
    });
    const harness = await start({ fetchPublic });
    expect(await titleAt(harness, url.href)).toBe(refused);
    expect(harness.events.map(({ event }) => event)).toContain("authserver.client-document-unreachable");
    expect(looked.length).toBe(/^[a-z]/.test(url.hostname) ? 1 : 0);
    expect(listener.connections()).toBe(0);
    await listener.close();
  });

  it("never leads inside by an answer that changes between two looks", async () => {
    const listener = await startListener();
    let looks = 0;
    const fetchPublic = guardWith(() => {
      looks += 1;
      return [looks % 2 === 1 ? "10.0.0.8" : "127.0.0.1"];
    });
    const harness = await start({ fetchPublic });
    for (let at = 0; at < 2; at += 1) {
      expect(await titleAt(harness, `https://rebinding.test:${String(listener.port)}/client.json`)).toBe(refused);
      harness.advance(10_001);
    }
    expect([looks, listener.connections()]).toEqual([2, 0]);
    await listener.close();
  });

  it.each([
    "http://client.test/c.json",
    "https://client.test",
    "https://client.test/",
    "https://client.test/a/../c.json",
    "https://client.test/a/%2e%2e/c.json",
    "https://client.test/c.json#x",
    "https://user@client.test/c.json",
    "https://user:pw@client.test/c.json",
    "https://CLIENT.test/c.json",
    "https://client.test:443/c.json",
    "https://client.test\\c.json",
    "https://client.test/a b",
    "HTTPS://client.test/c.json",
    "https:///c.json",
    `https://client.test/${"x".repeat(2_048)}`,
  ])("is no such URL: %s", (id) => {
    expect(isDocumentClientId(id)).toBe(false);
  });

  it.each(["https://client.test/c.json", "https://client.test:8443/c", "https://client.test/c?v=1"])(
    "is one: %s",
    (id) => {
      expect(isDocumentClientId(id)).toBe(true);
    },
  );
});

/** The guard that the gateway uses, with a name server of our own. */
function guardWith(addressesOf: (host: string) => readonly string[]): GuardedFetch {
  return createGuardedFetch({
    allow: "public",
    timeoutMs: 2_000,
    bytesMax: 10_240,
    resolve: (host, answer) => {
      answer(
        null,
        addressesOf(host).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    },
  });
}

/** A port of this machine that counts who comes. */
async function startListener(): Promise<{ port: number; connections: () => number; close: () => Promise<void> }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      }),
  };
}
