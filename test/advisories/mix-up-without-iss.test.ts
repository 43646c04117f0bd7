// A hostile upstream's authorization server sends the browser on to an honest one, under the client id that the gateway
// has everywhere. The code that the honest one gives must not reach the hostile one's token endpoint (RFC 9700 §4.4).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { ada, asAda, benchFor, closeAfter, outcome, provider, redirectUri, valueOf } from "../upstream/grants/bench.ts";
import type { Bench } from "../upstream/grants/bench.ts";
import type { Provider, ProviderWays } from "../upstream/grants/provider.ts";

/** One identifier at every server, which anybody may know. */
const clientDocumentUrl = "https://gateway.test/oauth/client.json";
const takesDocuments = { client_id_metadata_document_supported: true };
const advertised = { ...takesDocuments, authorization_response_iss_parameter_supported: true };
const silent = { ...takesDocuments, authorization_response_iss_parameter_supported: undefined };

/** An authorization endpoint that sends whoever comes to the honest server's, with all that they brought. */
async function detourTo({ origin }: Provider): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(302, { location: `${origin}/authorize${new URL(request.url ?? "/", origin).search}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeAfter(
    () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`;
}

interface Scene {
  readonly honest: Provider;
  readonly hostile: Provider;
}

/** Nothing names `iss` at the honest server unless `honestly` says so. */
async function scene(says: ProviderWays["serverChanges"], honestly: ProviderWays = { iss: null }): Promise<Scene> {
  const honest = await provider({ serverChanges: takesDocuments, ...honestly });
  const authorization_endpoint = await detourTo(honest);
  return { honest, hostile: await provider({ serverChanges: { ...says, authorization_endpoint } }) };
}

/** As a browser does, to where the last redirect leads back to. */
async function follow(url: string): Promise<URLSearchParams> {
  const first = await fetch(url, { redirect: "manual" });
  const location = first.headers.get("location") ?? "";
  return location.startsWith(redirectUri) ? new URL(location).searchParams : follow(location);
}

async function begun({ grants }: Bench): Promise<{ readonly attempt: string; readonly params: URLSearchParams }> {
  const { url, attempt } = valueOf(await grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
  return { attempt, params: await follow(url) };
}

const tokenRequests = ({ seen }: Provider): number => seen.filter(({ path }) => path === "/token").length;
const mismatch = "UPSTREAM_CONNECTION_REFUSED issuer-mismatch";

describe("an upstream whose authorization server sends people on to an honest one", () => {
  it("sends nobody anywhere while it does not say that its answers name it", async () => {
    const { honest, hostile } = await scene(silent);
    const { grants } = benchFor(hostile.url, { clientDocumentUrl });
    const refused = await grants.pages.begin({ ...asAda, upstream: "up", redirectUri });
    expect(outcome(refused)).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE issuer-unproven");
    expect(honest.seen).toEqual([]);
  });

  it.each<[string, ProviderWays]>([
    ["does not name itself", { iss: null }],
    ["names itself", {}],
  ])("never hears the code of an honest server that %s", async (_how, honestly) => {
    const { honest, hostile } = await scene(advertised, honestly);
    const bench = benchFor(hostile.url, { clientDocumentUrl });
    const { attempt, params } = await begun(bench);
    expect(params.get("code")).toMatch(/^[0-9a-f]{16}$/);
    expect(honest.seen.at(-1)?.params["client_id"]).toBe(clientDocumentUrl);
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(mismatch);
    expect([tokenRequests(hostile), tokenRequests(honest)]).toEqual([0, 0]);
  });

  it("nor is an error of the honest server taken for its own", async () => {
    const { hostile } = await scene(advertised);
    const bench = benchFor(hostile.url, { clientDocumentUrl });
    const { attempt, params } = await begun(bench);
    params.delete("code");
    params.set("error", "access_denied");
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(mismatch);
  });

  it("is believed where an operator named it, and hears the code with what redeems it: to name is to vouch", async () => {
    const { honest, hostile } = await scene(silent);
    const bench = benchFor(hostile.url, { clientDocumentUrl, upstream: { issuer: hostile.issuer } });
    const { attempt, params } = await begun(bench);
    await bench.grants.pages.finish({ person: ada, attempt, params });
    const stolen = hostile.seen.find(({ path }) => path === "/token")?.params ?? {};
    const redeemed = await fetch(`${honest.origin}/token`, { method: "POST", body: new URLSearchParams(stolen) });
    expect(redeemed.status).toBe(200);
  });
});

describe("an honest server that an operator named, although it does not name itself", () => {
  it("is sent a hostile server's code in vain, and the hostile one learns nothing", async () => {
    const { honest, hostile } = await scene(advertised);
    const bench = benchFor(honest.url, { clientDocumentUrl, upstream: { issuer: honest.issuer } });
    const { attempt, params } = await begun(bench);
    params.set("code", "made up by the hostile server");
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED code-refused",
    );
    expect([tokenRequests(hostile), tokenRequests(honest)]).toEqual([0, 1]);
  });

  it("keeps its attempt when an answer comes with the state of another one", async () => {
    const { honest, hostile } = await scene(advertised);
    const bench = benchFor(honest.url, { clientDocumentUrl, upstream: { issuer: honest.issuer } });
    const other = benchFor(hostile.url, { clientDocumentUrl });
    const [mine, theirs] = [await begun(bench), await begun(other)];
    const { pages } = bench.grants;
    expect(outcome(await pages.finish({ person: ada, attempt: mine.attempt, params: theirs.params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED attempt-not-yours",
    );
    expect(outcome(await pages.finish({ person: ada, ...mine }))).toEqual({ upstream: "up" });
  });
});
