import { readOwnString } from "../../model/json.ts";
import { ok, type Result } from "../../model/result.ts";
import type { GuardedFetch } from "../egress.ts";
import { readChallenge, type Challenge } from "./challenge.ts";
import { overTheNetwork, unusable } from "./faults.ts";
import { readDocument, readStrings } from "./read-document.ts";

/** What an upstream says of itself as a protected resource (RFC 9728). */
export interface ProtectedResource {
  /** The resource identifier, character by character as published. Undefined: nothing is published. */
  readonly identifier: string | undefined;
  /** Authorization servers, by issuer identifier; empty where nothing is published. */
  readonly issuers: readonly string[];
  /** Scopes for an ordinary sign-in: those of the challenge, else those published (2026-07-28, authorization). */
  readonly scopes: readonly string[] | undefined;
}

export interface ResourceQuestion {
  readonly upstream: string;
  readonly url: URL;
  readonly fetch: GuardedFetch;
  readonly scopesMax: number;
}

/**
 * Asks the upstream without a credential for its challenge, then reads the metadata that the challenge names, else
 * the well-known forms: the path inserted, then the root. What a document calls its resource must be the
 * upstream's URL or a part of its path at the same origin: a document for another resource would lend this
 * upstream tokens that were meant for that one.
 *
 * Refuses with UPSTREAM_AUTHORIZATION_UNUSABLE, UPSTREAM_CREDENTIAL_UNAVAILABLE and UPSTREAM_ADDRESS_FORBIDDEN.
 */
export async function askResource(question: ResourceQuestion): Promise<Result<ProtectedResource>> {
  const { upstream } = question;
  const challenge = await askForChallenge(question);
  if (!challenge.ok) return challenge;
  const { resourceMetadata: named, scopes } = challenge.value;
  if (named !== undefined && !URL.canParse(named)) return unusable(upstream, "challenge-names-no-url");
  for (const url of [...(named === undefined ? [] : [new URL(named)]), ...wellKnownUrls(question.url)]) {
    const document = await readMetadata(question, url);
    if (!document.ok) return document;
    if (document.value !== undefined) return ok({ ...document.value, scopes: scopes ?? document.value.scopes });
  }
  return ok({ identifier: undefined, issuers: [], scopes });
}

/**
 * Any request without a credential would do; this one is the cheapest of the modern era and opens no session in
 * the other. An upstream that cannot be asked has no challenge: its metadata may still be there.
 */
async function askForChallenge({ upstream, url, fetch, scopesMax }: ResourceQuestion): Promise<Result<Challenge>> {
  const answer = await overTheNetwork(upstream, () =>
    fetch(url, { method: "POST", headers: askingHeaders, body: ask }),
  );
  if (!answer.ok) {
    if (answer.refusal.code === "UPSTREAM_ADDRESS_FORBIDDEN") return answer;
    return ok(readChallenge(undefined, scopesMax));
  }
  const header = answer.value.status === 401 ? answer.value.headers.get("www-authenticate") : undefined;
  return ok(readChallenge(header, scopesMax));
}

const revision = "2026-07-28";
const askingHeaders = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": revision,
  "mcp-method": "server/discover",
};
const ask = JSON.stringify({
  jsonrpc: "2.0",
  id: "who-lets-in",
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

/** RFC 9728 §3.1, then the root. */
function wellKnownUrls(url: URL): readonly URL[] {
  const kind = "/.well-known/oauth-protected-resource";
  const inserted = new URL(`${kind}${url.pathname === "/" ? "" : url.pathname}${url.search}`, url);
  const root = new URL(kind, url);
  return inserted.href === root.href ? [root] : [inserted, root];
}

/** Undefined where there is no document: a status of 4xx or 502, or a page instead of JSON. */
async function readMetadata(
  { upstream, url, fetch, scopesMax }: ResourceQuestion,
  at: URL,
): Promise<Result<ProtectedResource | undefined>> {
  const answer = await overTheNetwork(upstream, async () => {
    const response = await fetch(at, { headers: { accept: "application/json" } });
    return { status: response.status, document: await readDocument(response) };
  });
  if (!answer.ok) return answer;
  const { status, document } = answer.value;
  if ((status >= 400 && status < 500) || status === 502) return ok(undefined);
  if (status !== 200) return unusable(upstream, "resource-metadata-status", { status: String(status) });
  const identifier = readOwnString(document, "resource");
  if (document === undefined || identifier === undefined) return ok(undefined);
  if (!covers(identifier, url)) return unusable(upstream, "resource-is-another");
  const issuers = readStrings(document, "authorization_servers", 10) ?? [];
  return ok({ identifier, issuers, scopes: nonEmpty(readStrings(document, "scopes_supported", scopesMax)) });
}

/** The same origin, and the path or a leading part of it, segment by segment (RFC 9728 §3.3 and what servers do). */
export function covers(identifier: string, url: URL): boolean {
  if (!URL.canParse(identifier)) return false;
  const resource = new URL(identifier);
  if (resource.origin !== url.origin || resource.hash !== "" || resource.username !== "") return false;
  if (resource.search !== "" && resource.search !== url.search) return false;
  const path = resource.pathname.replace(/\/$/, "");
  return url.pathname === path || url.pathname.startsWith(`${path}/`) || url.pathname === resource.pathname;
}

function nonEmpty(scopes: readonly string[] | undefined): readonly string[] | undefined {
  return scopes === undefined || scopes.length === 0 ? undefined : scopes;
}
