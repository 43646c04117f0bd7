import type { AuthorizationServer } from "oauth4webapi";
import { ok, type Result } from "../../model/result.ts";
import { discoverIssuer, NoMetadata } from "../credentials/discover-issuer.ts";
import { addressKind, mayDial } from "../address-rules.ts";
import type { GuardedFetch } from "../egress.ts";
import { faultCode } from "../connection-fault.ts";
import type { Addresses } from "../options.ts";
import { networkFault, unusable } from "./faults.ts";

export interface ServerQuestion {
  readonly upstream: string;
  /** The exact issuer identifier. */
  readonly issuer: string;
  readonly addresses: Addresses;
  readonly fetch: GuardedFetch;
  readonly assumePkce: boolean;
  /** Whether the issuer is only the upstream's origin, for want of metadata (2025-03-26, authorization). */
  readonly guessed: boolean;
}

/** The endpoints that are used, and the server's own metadata about them. */
export interface UsableServer extends AuthorizationServer {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

/**
 * The authorization server behind an issuer: its metadata, read with the issuer compared exactly, and judged. It
 * must have both endpoints, and say that it supports S256, without which clients must not go on
 * (2026-07-28, authorization, "Authorization Code Protection"). A server of revision 2025-03-26 may publish nothing
 * and stand at the upstream's origin with the paths that revision fixes; it says nothing of PKCE, so an
 * operator has to.
 *
 * Every URL must be https, or http on loopback where `addresses` says so; one with an address written out must be
 * an address that may be dialled. Names are judged when they are dialled. The authorization endpoint is opened by a
 * browser, so of its name nothing more can be judged here.
 *
 * Refuses with UPSTREAM_AUTHORIZATION_UNUSABLE, UPSTREAM_CREDENTIAL_UNAVAILABLE and UPSTREAM_ADDRESS_FORBIDDEN.
 */
export async function askServer(question: ServerQuestion): Promise<Result<UsableServer>> {
  const { upstream, issuer } = question;
  if (!isUsableUrl(issuer, question.addresses)) return unusable(upstream, "issuer-url", { issuer });
  const found = await readMetadata(question);
  return found.ok ? judge(question, found.value) : found;
}

async function readMetadata(question: ServerQuestion): Promise<Result<AuthorizationServer>> {
  const { upstream, issuer, fetch, guessed } = question;
  try {
    return ok(await discoverIssuer(issuer, fetch));
  } catch (fault) {
    if (fault instanceof NoMetadata) return guessed ? ok(endpointsOf20250326(issuer)) : noMetadata(question);
    const code = faultCode(fault);
    // Codes of this prefix speak of a document that came and is wrong; the rest of the way to it.
    if (code.startsWith("OAUTH_")) return unusable(upstream, "server-metadata", { issuer, code });
    return networkFault(upstream, fault);
  }
}

function noMetadata({ upstream, issuer }: ServerQuestion): Result<AuthorizationServer> {
  return unusable(upstream, "no-server-metadata", { issuer });
}

/** Revision 2025-03-26, authorization, "Fallbacks for Servers without Metadata Discovery". */
function endpointsOf20250326(origin: string): AuthorizationServer {
  const at = (path: string): string => new URL(path, origin).href;
  return {
    issuer: origin,
    authorization_endpoint: at("/authorize"),
    token_endpoint: at("/token"),
    registration_endpoint: at("/register"),
  };
}

function judge(question: ServerQuestion, server: AuthorizationServer): Result<UsableServer> {
  const { upstream, issuer, addresses, assumePkce } = question;
  const { authorization_endpoint, token_endpoint, registration_endpoint, revocation_endpoint } = server;
  if (authorization_endpoint === undefined || token_endpoint === undefined)
    return unusable(upstream, "no-endpoints", { issuer });
  const urls = { authorization_endpoint, token_endpoint, registration_endpoint, revocation_endpoint };
  for (const [endpoint, url] of Object.entries(urls))
    if (url !== undefined && !isUsableUrl(url, addresses))
      return unusable(upstream, "endpoint-url", { issuer, endpoint });
  const methods: unknown = server.code_challenge_methods_supported;
  const offersS256 = Array.isArray(methods) && methods.includes("S256");
  // A list without S256 is a statement, which no setting of ours makes untrue.
  if (!offersS256 && !(assumePkce && methods === undefined)) return unusable(upstream, "no-pkce", { issuer });
  return ok({ ...server, authorization_endpoint, token_endpoint });
}

function isUsableUrl(text: unknown, addresses: Addresses): boolean {
  if (typeof text !== "string" || text.length > 2_048 || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || url.hash !== "") return false;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const kind = isLocalName(host) ? "loopback" : addressKind(host);
  const clearText = url.protocol !== "https:";
  if (clearText && (url.protocol !== "http:" || kind !== "loopback")) return false;
  return !isWrittenOut(host) || mayDial(kind, addresses, clearText);
}

/** An address, or a name that stands for one on every machine. Other names are judged when they are dialled. */
function isWrittenOut(host: string): boolean {
  return isLocalName(host) || /^[\d.]+$/.test(host) || host.includes(":");
}

/** RFC 6761 §6.3. */
function isLocalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}
