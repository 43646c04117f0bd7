import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { denyDigest } from "../../../src/auth/deny-list.ts";
import { until } from "../../journey/gateway-under-test.ts";
import { openSession, legacyCall, refusalIn } from "../../journey/wire-client.ts";
import { startRedis } from "../../setup/redis.ts";
import type { RedisUnderTest } from "../../setup/redis.ts";
import { startScriptedUpstream } from "../../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../../upstream/scripted-upstream.ts";
import * as kinds from "./kinds.ts";
import { openProviderBench } from "./provider-bench.ts";
import type { ProviderBench, ProviderCase } from "./provider-bench.ts";
import { gatewayClient, robot } from "./provider.ts";
import { revokeAt, signInAt, tokensAt } from "./sign-in-at.ts";
import type { Tokens } from "./sign-in-at.ts";

const { ids } = kinds;

/** What is expected of each provider, beside what is expected of all. */
interface Expected extends ProviderCase {
  readonly subject: string;
  readonly service: { readonly subject: string; readonly kind: "service" | "human"; readonly form?: object };
  /** Why a token that the provider gives for something else is refused at `crm`. */
  readonly elsewhere?: { readonly client: object; readonly code: string };
  readonly idToken: string;
  readonly opaque?: true;
}

const desktop = { clientId: "desktop" };

const providers: readonly Expected[] = [
  {
    name: "strict about RFC 8707",
    kind: (urls) => kinds.strict(() => [urls.crm, urls.hr]),
    issuer: () => ({ groupsClaim: "groups" }),
    client: desktop,
    subject: "ada",
    service: { subject: robot.id, kind: "service" },
    idToken: "AUTH_AUDIENCE_MISMATCH",
  },
  {
    name: "Keycloak with an audience mapper",
    kind: (urls) => kinds.keycloak(() => [urls.crm]),
    issuer: () => ({ profile: "keycloak" }),
    client: desktop,
    subject: "ada",
    service: { subject: "5f1c-user-of-robot", kind: "service" },
    idToken: "AUTH_TOKEN_TYPE_REFUSED",
  },
  {
    name: "Entra ID with the server's URL as application id URI",
    kind: (urls) => kinds.entra(() => urls.crm),
    issuer: ({ crm }) => ({
      profile: "entra",
      audience: { crm: ids.crm, hr: ids.hr },
      scopePrefix: { crm: `${crm}/` },
    }),
    client: desktop,
    subject: "oid-of-ada",
    service: {
      subject: "oid-of-robot",
      kind: "service",
      form: { scope: "https://any/.default", resource: "https://any" },
    },
    idToken: "AUTH_AUDIENCE_MISMATCH",
  },
  {
    name: "Entra ID with another application id URI, of a client that sends no resource",
    kind: () => kinds.entra(() => `api://${ids.crm}`),
    issuer: () => ({
      profile: "entra",
      audience: { crm: ids.crm, hr: ids.hr },
      scopePrefix: { crm: `api://${ids.crm}/` },
    }),
    // One application is both the API and its client, as the portal suggests: its ID tokens have the same audience.
    client: { clientId: ids.crm, sendsResource: false },
    subject: "oid-of-ada",
    service: {
      subject: "oid-of-robot",
      kind: "service",
      form: { scope: `api://${ids.crm}/.default`, resource: `api://${ids.crm}` },
    },
    idToken: "AUTH_TOKEN_TYPE_REFUSED",
  },
  {
    name: "Okta",
    kind: () => kinds.okta,
    issuer: () => ({ profile: "okta", audience: { crm: "api://crm", hr: "api://hr" } }),
    client: desktop,
    subject: "00u-ada",
    service: { subject: robot.id, kind: "service" },
    idToken: "AUTH_TOKEN_TYPE_REFUSED",
  },
  ...(["own", "rfc9068"] as const).map((format): Expected => ({
    name: `Auth0 with tokens of the format ${format}`,
    kind: () => kinds.auth0(format),
    issuer: () => ({ profile: "auth0", groupsClaim: "https://corp.test/groups" }),
    client: desktop,
    subject: "auth0|ada",
    service: { subject: `${robot.id}@clients`, kind: "service" },
    elsewhere: { client: { sendsResource: false }, code: "AUTH_TOKEN_ENCRYPTED" },
    idToken: "AUTH_AUDIENCE_MISMATCH",
  })),
  {
    name: "Cognito",
    kind: () => kinds.cognito,
    issuer: () => ({ profile: "cognito", audience: { crm: ids.crm, hr: ids.hr }, scopePrefix: { crm: "crm/" } }),
    client: { clientId: ids.crm },
    subject: "u-u-i-d",
    service: { subject: ids.crm, kind: "service", form: { client_id: ids.crm } },
    elsewhere: { client: { clientId: "another" }, code: "AUTH_AUDIENCE_MISMATCH" },
    idToken: "AUTH_TOKEN_TYPE_REFUSED",
  },
  {
    name: "Ping with reference tokens",
    kind: () => kinds.ping,
    issuer: () => ({
      profile: "ping",
      introspection: { clientId: gatewayClient.id, clientSecret: "${env:INTROSPECTION_SECRET}" },
    }),
    client: desktop,
    subject: "ada",
    service: { subject: robot.id, kind: "service" },
    elsewhere: { client: { sendsResource: false }, code: "AUTH_AUDIENCE_MISMATCH" },
    idToken: "AUTH_AUDIENCE_MISMATCH",
    opaque: true,
  },
  {
    name: "authentik",
    kind: () => kinds.authentik,
    issuer: () => ({ profile: "authentik", audience: { crm: ids.crm, hr: ids.hr } }),
    client: { clientId: ids.crm },
    subject: "ada",
    service: { subject: "hash-of-ak-robot", kind: "human", form: { client_id: ids.crm } },
    elsewhere: { client: { clientId: "another" }, code: "AUTH_AUDIENCE_MISMATCH" },
    idToken: "AUTH_TOKEN_TYPE_REFUSED",
  },
];

let redis: RedisUnderTest;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  redis = await startRedis();
  upstream = await startScriptedUpstream({ era: "both" });
});

afterAll(async () => {
  await upstream.close();
  await redis.stop();
});

describe.each(providers)("a provider that is $name", (about) => {
  let bench: ProviderBench;
  let tokens: Tokens;

  beforeAll(async () => {
    bench = await openProviderBench(about, upstream.url, redis.url);
    tokens = await bench.signIn();
  });

  afterAll(async () => {
    await bench.close();
  });

  it("lets its people in, by group and scope, as who they are", async () => {
    expect(await bench.outcome(tokens.access)).toBe("ok");
    const called = await bench.call(tokens.access);
    expect([called.status, refusalIn(called).code]).toEqual([200, ""]);
    expect(await principalSeen(bench, about.subject)).toMatchObject({ kind: "human", scopes: ["mcp:use"] });
  });

  it("is sent to by the challenge with the scopes as it wants them, and who lacks them is told all", async () => {
    const fewer = await bench.signIn({ scope: bench.found.scope.replace("mcp:use", "mcp:see") });
    const called = await bench.call(fewer.access);
    expect([called.status, refusalIn(called).code]).toEqual([403, "SCOPE_INSUFFICIENT"]);
    expect(called.headers["www-authenticate"]).toContain(`scope="${bench.found.scope}"`);
  });

  it("has its tokens for one server refused at another", async () => {
    expect(await bench.outcome(tokens.access, "hr")).toBe("AUTH_AUDIENCE_MISMATCH");
  });

  it("has its ID tokens refused", async () => {
    expect(await bench.outcome(tokens.id)).toBe(about.idToken);
  });

  it("lets services in as what they are", async () => {
    const form = {
      grant_type: "client_credentials",
      client_id: robot.id,
      client_secret: robot.secret,
      scope: bench.found.scope,
      resource: bench.urls.crm,
    };
    const answer = await tokensAt(bench.found, { ...form, ...about.service.form });
    if ("error" in answer) throw new Error(answer.error);
    const { subject, kind } = about.service;
    const listed = kind === "service" || about.name === "authentik" ? "ok" : "nothing is listed";
    expect(await bench.outcome(answer.access)).toBe(listed);
    expect(await principalSeen(bench, subject)).toMatchObject({ kind });
  });

  it("keeps a session across a refresh", async () => {
    const own = await bench.signIn();
    const caller = { gateway: bench.gateway, server: "crm", token: own.access };
    const session = await openSession(caller);
    const renewed = await refresh(bench, own.refresh);
    if ("error" in renewed) throw new Error(renewed.error);
    expect(renewed.access).not.toBe(own.access);
    const answer = await legacyCall({ ...session, token: renewed.access }, "tools/list");
    expect(answer.json).toHaveProperty("result");
    expect(await refresh(bench, own.refresh)).toEqual({ error: "invalid_grant" });
  });

  it("ends a sign-in when it revokes it, and a token at once when it is denied here", async () => {
    const own = await bench.signIn();
    if (bench.found.metadata["revocation_endpoint"] === undefined) bench.provider.endSignIns("ada");
    else {
      await revokeAt(bench.found, own.refresh ?? "");
      await revokeAt(bench.found, own.access);
    }
    expect(await refresh(bench, own.refresh)).toEqual({ error: "invalid_grant" });
    // A JWT lives on until it expires; nobody asks its issuer.
    expect(await bench.outcome(own.access)).toBe(about.opaque === true ? "AUTH_TOKEN_INACTIVE" : "ok");
    const another = await bench.signIn();
    await redis.command(`SET sallyport:default:denied-token:${denyDigest(another.access)} 1 EX 60`);
    expect(await bench.outcome(another.access)).toBe("AUTH_TOKEN_REVOKED");
    expect(await bench.outcome(tokens.access)).toBe("ok");
  });
});

async function refresh({ found }: ProviderBench, token: string | undefined): ReturnType<typeof tokensAt> {
  return tokensAt(found, { grant_type: "refresh_token", refresh_token: token ?? "", resource: found.resource });
}

/** The principal of this subject as the evidence has it. */
async function principalSeen({ gateway }: ProviderBench, subject: string): Promise<unknown> {
  const seen = (): unknown => gateway.audit().findLast(({ principal }) => principal?.subject === subject)?.principal;
  await until(() => seen() !== undefined);
  return seen();
}

describe.each(providers.filter(({ elsewhere }) => elsewhere !== undefined))("a provider that is $name", (about) => {
  it("has its tokens for nothing here refused", async () => {
    const bench = await openProviderBench(about, upstream.url, redis.url);
    const { access } = await bench.signIn(about.elsewhere?.client);
    expect(await bench.outcome(access)).toBe(about.elsewhere?.code);
    await bench.close();
  });
});

describe("what goes wrong with providers in the field", () => {
  const open = async (about: Partial<ProviderCase> & Pick<ProviderCase, "kind" | "issuer">): Promise<ProviderBench> =>
    openProviderBench({ name: "", client: desktop, ...about }, upstream.url, redis.url);

  it("Entra ID refuses a resource that is not the scope's application, and the gateway relays nothing", async () => {
    const bench = await open({
      kind: () => kinds.entra(() => `api://${ids.crm}`),
      issuer: () => ({ profile: "entra", audience: { crm: ids.crm }, scopePrefix: { crm: `api://${ids.crm}/` } }),
    });
    expect(await signInAt(bench.found, desktop)).toEqual({ error: expect.stringContaining("AADSTS9010010") as string });
    await bench.close();
  });

  it.each([
    ["for `account`", true],
    ["for nobody", false],
  ])("Keycloak without an audience mapper issues tokens %s, which are refused", async (_whom, hasAccountRole) => {
    const kind = (): ReturnType<typeof kinds.keycloak> => kinds.keycloak(() => [], hasAccountRole);
    const bench = await open({ kind, issuer: () => ({ profile: "keycloak" }) });
    const { access } = await bench.signIn();
    expect(Object.hasOwn(decodeJwt(access), "aud")).toBe(hasAccountRole);
    expect(await bench.outcome(access)).toBe("AUTH_AUDIENCE_MISMATCH");
    await bench.close();
  });

  it("Auth0's issuer ends in a slash: a token that names it without one is of an unknown issuer", async () => {
    const bench = await open({
      kind: () => kinds.auth0("rfc9068"),
      issuer: () => ({ profile: "auth0", groupsClaim: "https://corp.test/groups" }),
    });
    const claims = decodeJwt((await bench.signIn()).access);
    expect(await bench.outcome(await bench.provider.sign(claims, { typ: "at+jwt" }))).toBe("ok");
    const other = await bench.provider.sign({ ...claims, iss: bench.provider.origin }, { typ: "at+jwt" });
    expect(await bench.outcome(other)).toBe("AUTH_ISSUER_UNKNOWN");
    await bench.close();
  });

  it("rotates its keys: the new key's tokens are taken at once, the old key's no longer", async () => {
    const bench = await open({
      kind: (urls) => kinds.strict(() => [urls.crm, urls.hr]),
      issuer: () => ({ groupsClaim: "groups" }),
    });
    const old = await bench.signIn();
    expect(await bench.outcome(old.access)).toBe("ok");
    await bench.provider.rotateKeys();
    const fresh = await bench.signIn();
    expect(await bench.outcome(fresh.access)).toBe("ok");
    expect(await bench.outcome(old.access)).toBe("AUTH_KEY_UNKNOWN");
    await bench.close();
  });

  it.each([
    [4, "ok"],
    [25, "ok"],
    [45, "AUTH_TOKEN_NOT_YET_VALID"],
    [-310, "ok"],
    [-345, "AUTH_TOKEN_EXPIRED"],
  ])("has a clock that is %i s ahead: %s", async (aheadSeconds, expected) => {
    const bench = await open({
      kind: (urls) => kinds.strict(() => [urls.crm, urls.hr]),
      issuer: () => ({ groupsClaim: "groups" }),
    });
    bench.provider.clockAheadSeconds = aheadSeconds;
    const { access } = await bench.signIn();
    expect(await bench.outcome(access)).toBe(expected);
    await bench.close();
  });
});
