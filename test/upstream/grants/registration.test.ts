import { describe, expect, it } from "vitest";
import { clientDocument } from "../../../src/upstream/grants/client-document.ts";
import {
  ada,
  approve,
  asAda,
  benchFor,
  connect,
  editor,
  outcome,
  provider,
  redirectUri,
  tokenOf,
  valueOf,
} from "./bench.ts";
import { handMade } from "./provider.ts";

const documentUrl = "https://gateway.test/oauth/client.json";
const takesDocuments = { serverChanges: { client_id_metadata_document_supported: true } };

describe("what the gateway is to an authorization server", () => {
  it("is the configured client before all else", async () => {
    const at = await provider(takesDocuments);
    const bench = benchFor(at.url, {
      upstream: { client: handMade, issuer: at.issuer },
      clientDocumentUrl: documentUrl,
    });
    valueOf(await connect(bench));
    expect(at.seen.find(({ path }) => path === "/authorize")?.params["client_id"]).toBe(handMade.id);
    expect(at.seen.filter(({ path }) => path === "/register")).toEqual([]);
  });

  it("cannot be configured without the issuer that it is registered with: the secret would go to whomever is named", () => {
    expect(() => benchFor("https://up.test/mcp", { upstream: { client: handMade } })).toThrow(
      "a client needs its issuer",
    );
  });

  it("is its metadata document where the server takes such, and registers nothing", async () => {
    const at = await provider(takesDocuments);
    valueOf(await connect(benchFor(at.url, { clientDocumentUrl: documentUrl })));
    expect(at.seen.find(({ path }) => path === "/token")?.params["client_id"]).toBe(documentUrl);
    expect(at.seen.filter(({ path }) => path === "/register")).toEqual([]);
  });

  it.each([
    ["the server does not take documents", {}, documentUrl],
    ["the gateway has no https address", takesDocuments, undefined],
  ])("is registered dynamically when %s, once for all", async (_name, ways, url) => {
    const at = await provider(ways);
    const bench = benchFor(at.url, url === undefined ? {} : { clientDocumentUrl: url });
    valueOf(await connect(bench));
    valueOf(await connect(bench, { person: { ...ada, subject: "bob" }, clientId: editor }));
    const registered = at.seen.filter(({ path }) => path === "/register");
    expect(registered).toHaveLength(1);
    expect(JSON.parse(registered[0]?.body ?? "")).toMatchObject({
      client_name: "Sallyport",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    });
  });

  it("is one registration when several connect at once, in one process and in two", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    const replica = benchFor(at.url, { store: bench.store, clock: bench.clock });
    const begun = await Promise.all(
      [bench, bench, replica].map(({ grants }) => grants.pages.begin({ ...asAda, upstream: "up", redirectUri })),
    );
    const ids = begun.map((one) => new URL(valueOf(one).url).searchParams.get("client_id"));
    expect(new Set(ids).size).toBe(1);
  });

  it.each([
    ["offers no registration", { serverChanges: { registration_endpoint: undefined } }, "no-registration"],
    ["refuses it", { registrationStatus: 403 }, "registration-refused"],
    [
      "registers other redirect URIs",
      { registrationChanges: { redirect_uris: ["https://else.test/"] } },
      "registration-invalid",
    ],
    ["gives no id", { registrationChanges: { client_id: undefined } }, "registration-invalid"],
  ])("is nothing when the server %s", async (_name, ways, fault) => {
    expect(outcome(await connect(benchFor((await provider(ways)).url)))).toBe(
      `UPSTREAM_AUTHORIZATION_UNUSABLE ${fault}`,
    );
  });

  it("takes a registration that is answered with 200", async () => {
    expect(outcome(await connect(benchFor((await provider({ registrationStatus: 200 })).url)))).toEqual({
      upstream: "up",
    });
  });
});

describe("how the gateway authenticates at a token endpoint", () => {
  it.each<[string, readonly string[] | undefined, RegExp | undefined, string | undefined]>([
    ["Basic where nothing is said", undefined, /^Basic /, undefined],
    ["Basic where it is offered", ["client_secret_post", "client_secret_basic"], /^Basic /, undefined],
    ["in the form where that alone is offered", ["client_secret_post"], undefined, handMade.secret],
  ])("%s", async (_name, methods, header, secret) => {
    const at = await provider({ serverChanges: { token_endpoint_auth_methods_supported: methods } });
    valueOf(await connect(benchFor(at.url, { upstream: { client: handMade, issuer: at.issuer } })));
    const request = at.seen.find(({ path }) => path === "/token");
    if (header === undefined) expect(request?.authorization).toBeUndefined();
    else expect(request?.authorization).toMatch(header);
    expect(request?.params["client_secret"]).toBe(secret);
  });

  it("as a public client where only that is offered", async () => {
    const at = await provider({ serverChanges: { token_endpoint_auth_methods_supported: ["none"] } });
    valueOf(await connect(benchFor(at.url)));
    const request = at.seen.find(({ path }) => path === "/token");
    expect([request?.authorization, request?.params["client_secret"]]).toEqual([undefined, undefined]);
    expect(request?.params["client_id"]).toMatch(/^dynamic-/);
  });
});

describe("a registration that the server lost", () => {
  it("is told when the person comes back, and the next attempt registers anew", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    const { url, attempt } = valueOf(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
    const params = await approve(url);
    at.forgetClients();
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED registration-lost",
    );
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(2);
  });

  it("takes a grant with it, as its tokens are bound to it, and the person is told why", async () => {
    const at = await provider({ expiresIn: 100 });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.forgetClients();
    bench.clock.now += 90_000;
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED registration-lost");
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
  });

  it("is given up although whoever uses it seals it anew in the same moment", async () => {
    const at = await provider({ expiresIn: 100 });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.forgetClients();
    bench.clock.now += 90_000;
    const replace = bench.store.replace.bind(bench.store);
    let used = 0;
    const racing: typeof replace = async (key, expected, value, ttlMs) => {
      if (key[0] === "grant-client" && value === "gone" && (used += 1) < 3)
        valueOf(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
      return replace(key, expected, value, ttlMs);
    };
    const slow = benchFor(at.url, { ...bench, store: { ...bench.store, replace: racing } });
    expect(await tokenOf(slow)).toBe("UPSTREAM_CONNECTION_REQUIRED registration-lost");
    expect(used).toBe(3);
    bench.clock.now += 2;
    valueOf(await connect(bench));
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(2);
  });

  it("keeps the grant when an operator made it: that mistake can be mended", async () => {
    const at = await provider({ expiresIn: 100 });
    const bench = benchFor(at.url, { upstream: { client: handMade, issuer: at.issuer } });
    valueOf(await connect(bench));
    const wrong = benchFor(at.url, {
      store: bench.store,
      clock: bench.clock,
      upstream: { client: { ...handMade, secret: "wrong" }, issuer: at.issuer },
    });
    bench.clock.now += 100_000;
    expect(await tokenOf(wrong)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(at.live).toContain(await tokenOf(bench));
  });

  it("whose secret has expired is made anew", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    at.ways = { registrationChanges: { client_secret_expires_at: bench.clock.now / 1_000 + 60 } };
    valueOf(await connect(bench));
    bench.clock.now += 60_000;
    at.ways = {};
    valueOf(await connect(bench));
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(2);
  });
});

it("the metadata document names the URL where it stands, and a public client", () => {
  const document = clientDocument({
    url: documentUrl,
    name: "Sallyport",
    home: "https://gateway.test",
    redirectUris: [redirectUri],
  });
  expect(document).toEqual({
    client_id: documentUrl,
    client_name: "Sallyport",
    client_uri: "https://gateway.test",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: "web",
    token_endpoint_auth_method: "none",
  });
});
