import { randomBytes } from "node:crypto";
import { createAead } from "../../src/gateway/aead.ts";
import { limits } from "../../src/model/limits.ts";
import { principalKey, type Principal } from "../../src/model/principal.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import type { Result } from "../../src/model/result.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import type { GrantsOptions, GrantUpstreamOptions } from "../../src/upstream/grants/options.ts";
import { userGrantCredential, type UserGrantCredential } from "../../src/upstream/grants/user-grant-credential.ts";
import { createGrants, type Grants } from "../../src/upstream/grants/user-grants.ts";
import type { Values } from "./fixture-item.ts";
import { revisionOf, type Era } from "./suite.ts";

/** What an operator sets up besides the server's URL. */
export interface Settings {
  readonly clientDocumentUrl?: string;
  readonly client?: GrantUpstreamOptions["client"];
  readonly issuer?: string;
}

export interface Where {
  readonly serverUrl: string;
  readonly era: Era;
  /** What the suite hands the command besides the URL. */
  readonly context: Values;
}

/** A person's account at the protected server, as the gateway keeps it for them. */
export interface Account {
  readonly context: Values;
  /** Sends a request with the person's token, connecting first where that is asked for. */
  send(method: string, params?: Values): Promise<Sent>;
  /** The operator names this issuer as the one to use from now on. */
  useIssuer(issuer: string): void;
}

export type Sent = { readonly status: number } | { readonly refusal: Refusal };

const who = {
  tenant: "default",
  issuer: "https://company.example",
  kind: "human",
  subject: "ada",
  clientId: "editor",
} as const;
/** The person on whose account the server is called. */
export const principal: Principal = {
  ...who,
  issuerAlias: "company",
  groups: [],
  scopes: [],
  claims: {},
  expiresAt: 0,
  key: principalKey(who),
};
const caller = { caller: { principal } };
const redirectUri = "http://localhost:8080/connect/granted";

/**
 * The person agrees to whatever they are asked, by following the redirect. The operator names a server whose answers do
 * not, as the refusal tells them to: most of the suite's servers are such.
 */
export function openAccount(where: Where, settings: Settings): Account {
  const base = optionsFor(where, settings);
  let grants = createGrants(base);
  const useIssuer = (issuer: string): void => {
    grants = createGrants({ ...base, upstreams: { up: { ...upstreamFor(where, settings), issuer } } });
  };
  return {
    context: where.context,
    useIssuer,
    send: async (method, params = {}) => {
      const sent = await send({ where, grants }, method, params);
      const unproven = "refusal" in sent && sent.refusal.facts["fault"] === "issuer-unproven";
      if (!unproven) return sent;
      useIssuer(String(sent.refusal.facts["issuer"]));
      return send({ where, grants }, method, params);
    },
  };
}

function optionsFor(where: Where, settings: Settings): GrantsOptions {
  const aead = createAead({ current: { kid: "run", key: randomBytes(32) }, previous: [] }, randomBytes);
  return {
    upstreams: { up: upstreamFor(where, settings) },
    records: createMemoryStore({ now: Date.now }),
    sealer: {
      seal: (associated, text) => aead.encrypt(associated, new Uint8Array(), text),
      open: (associated, sealed) => {
        const opened = aead.decrypt(associated, 0, sealed);
        return opened.ok ? opened.text : undefined;
      },
    },
    clientName: "Sallyport",
    issuersElsewhere: {},
    clientDocumentUrl: settings.clientDocumentUrl,
    now: Date.now,
    random: randomBytes,
    jitter: Math.random,
    limits,
    log: () => undefined,
    witness: { changed: () => undefined, quarantined: () => undefined },
  };
}

function upstreamFor({ serverUrl }: Where, { client, issuer }: Settings): GrantUpstreamOptions {
  return {
    url: serverUrl,
    title: "The suite's server",
    addresses: "loopback",
    issuer,
    client,
    scopes: undefined,
    sendResource: true,
    assumePkce: false,
    profile: "standard",
  };
}

interface Scene {
  readonly where: Where;
  readonly grants: Grants;
}

/**
 * As the gateway delivers a message: with the credential of the caller, once more with a renewed one after a 401.
 * Where the person has to act, they do, once for each of the two; then the request is sent again.
 */
async function send(scene: Scene, method: string, params: Values): Promise<Sent> {
  const credential = userGrantCredential("up", scene.grants.tokens, limits);
  const held = await orConnect(scene, () => credential.headers(caller), credential);
  if (!held.ok) return held;
  const first = await post(scene.where, { method, params, headers: held.value });
  if (first.status === 401) {
    const renewed = await orConnect(scene, () => credential.renew(caller, held.value), credential);
    return renewed.ok ? post(scene.where, { method, params, headers: renewed.value }) : renewed;
  }
  if (first.status !== 403) return first;
  const refused = await credential.forbidden(caller, first.challenge);
  if (refused === undefined || refused.ok) return first;
  const wider = await orConnect(scene, () => Promise.resolve(refused), credential);
  return wider.ok ? post(scene.where, { method, params, headers: wider.value }) : wider;
}

type Headers = readonly string[];

async function orConnect(
  { grants }: Scene,
  obtain: () => Promise<Result<Headers>>,
  credential: UserGrantCredential,
): Promise<Result<Headers>> {
  const held = await obtain();
  if (held.ok || held.refusal.code !== "UPSTREAM_CONNECTION_REQUIRED") return held;
  const { tenant, issuer, subject, clientId } = who;
  const person = { tenant, issuer, subject };
  const begun = await grants.pages.begin({ person, clientId, upstream: "up", redirectUri });
  if (!begun.ok) return begun;
  const { url, attempt } = begun.value;
  const finished = await grants.pages.finish({ person, attempt, params: await agree(url) });
  return finished.ok ? credential.headers(caller) : finished;
}

async function agree(url: string): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`The authorization endpoint answered ${response.status}`);
  return new URL(location).searchParams;
}

async function post(
  { serverUrl, era }: Where,
  { method, params, headers }: { readonly method: string; readonly params: Values; readonly headers: Headers },
): Promise<{ readonly status: number; readonly challenge: string | undefined }> {
  const [name = "", value = ""] = headers;
  const response = await fetch(serverUrl, {
    method: "POST",
    headers: { ...requestHeaders(era, method, params), [name]: value },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, ...metaOf(era) } }),
  });
  await response.arrayBuffer();
  return { status: response.status, challenge: response.headers.get("www-authenticate") ?? undefined };
}

function requestHeaders(era: Era, method: string, params: Values): Record<string, string> {
  const both = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": revisionOf[era],
  };
  if (era === "legacy") return both;
  const name = params["name"];
  return { ...both, "mcp-method": method, ...(typeof name === "string" ? { "mcp-name": name } : {}) };
}

function metaOf(era: Era): Values {
  if (era === "legacy") return {};
  const prefix = "io.modelcontextprotocol";
  return {
    _meta: {
      [`${prefix}/protocolVersion`]: revisionOf.modern,
      [`${prefix}/clientInfo`]: { name: "conformance", version: "1.0.0" },
      [`${prefix}/clientCapabilities`]: {},
    },
  };
}
