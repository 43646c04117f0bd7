import type { Principal } from "../../model/principal.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** What a call needs that was refused because its person has to connect an upstream. */
export interface ConnectionNeeded {
  readonly refusal: Refusal;
  readonly principal: Principal;
  readonly upstream: string;
  /** Undefined where nobody can sign in as the principal: a service, or people of an issuer without pages here. */
  readonly link: string | undefined;
}

/** Undefined for every other refusal. */
export function connectionNeeded(x: Exchange, g: Gateway, refusal: Refusal | undefined): ConnectionNeeded | undefined {
  const { principal } = x;
  const upstream = refusal?.facts["upstream"];
  if (refusal?.code !== "UPSTREAM_CONNECTION_REQUIRED" || principal === undefined) return undefined;
  if (typeof upstream !== "string") return undefined;
  return { refusal, principal, upstream, link: g.connections.linkFor(principal, upstream) };
}

/**
 * The refusal with a sentence that says where the person connects the upstream: what every client can show, whatever
 * it declared. The link carries no authority, so it may stand in any transcript. Evidence and log leave it out.
 */
export function withWayOut(x: Exchange, g: Gateway, refusal: Refusal | undefined): Refusal | undefined {
  const needed = connectionNeeded(x, g, refusal);
  if (needed === undefined || needed.refusal.message !== undefined) return refusal;
  return { ...needed.refusal, message: sentenceFor(needed) };
}

function sentenceFor({ refusal, link }: ConnectionNeeded): string {
  if (link === undefined) return "Nobody can sign in here to connect it for this account: tell the operator.";
  return `${reasonFor(refusal)}Open ${link} in a browser, sign in as yourself, and call again once it is connected.`;
}

/** What a dialog says above the link. */
export function questionFor(g: Gateway, { refusal, upstream }: ConnectionNeeded): string {
  return `${reasonFor(refusal)}Connect ${g.connections.titleOf(upstream)} to your own account there to go on with this call.`;
}

function reasonFor({ facts }: Refusal): string {
  const reason = reasons.get(typeof facts["reason"] === "string" ? facts["reason"] : "");
  return reason === undefined ? "" : `${reason} `;
}

/** Where the person had it connected before, or may think so. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["not-consented", "You have connected it, but not yet for this application."],
  ["expired", "The connection that you made has expired."],
  ["withdrawn", "The connection that you made was ended at the service."],
  ["rotation-lost", "The connection that you made was lost."],
  ["registration-lost", "The service no longer knows this gateway."],
  ["token-refused", "The service no longer takes the connection that you made."],
  ["scope-insufficient", "The connection that you made does not permit this call."],
]);
