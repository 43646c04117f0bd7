import { isJsonObject, readOwn, readOwnString, type Json } from "../../model/json.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import type { ConnectReason } from "./faults.ts";
import { readStrings } from "./read-document.ts";
import type { Tokens } from "./token-endpoint.ts";

/** One person's grant at one upstream, as it is sealed. */
export interface Grant {
  /** Differs for every set of tokens. */
  readonly generation: string;
  /** Undefined once the grant is lost. */
  readonly tokens: Tokens | undefined;
  /** Scopes that the tokens carry, as far as anybody said. */
  readonly scopes: readonly string[];
  /** Scopes that the upstream has asked for besides; the next connecting asks for them too. */
  readonly wanted: readonly string[];
  /** The gateway's own registration that the tokens are bound to, and where its answers go. */
  readonly clientId: string;
  readonly redirectUri: string;
  /** Clients of the gateway for which the person consented. */
  readonly consented: readonly string[];
  /** When it was connected, and when it was last written: milliseconds since the epoch. */
  readonly since: number;
  readonly writtenAt: number;
  /** A refresh of this generation was begun, and nobody knows yet what came of it. */
  readonly refreshing: boolean;
  /** Why there are no tokens any more, or why the person is to connect again although there are. */
  readonly reason: ConnectReason | undefined;
}

export function writeGrant(grant: Grant): string {
  return JSON.stringify(grant);
}

/** Our own writing: undefined for what is none. */
export function readGrant(text: string): Grant | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const names = ["generation", "clientId", "redirectUri"].map((name) => readOwnString(value, name));
  const [generation, clientId, redirectUri] = names;
  const times = [readOwn(value, "since"), readOwn(value, "writtenAt")];
  const [since, writtenAt] = times;
  if (generation === undefined || clientId === undefined || redirectUri === undefined) return undefined;
  if (typeof since !== "number" || typeof writtenAt !== "number") return undefined;
  return {
    generation,
    tokens: readTokens(readOwn(value, "tokens")),
    scopes: readStrings(value, "scopes", listItemsMax) ?? [],
    wanted: readStrings(value, "wanted", listItemsMax) ?? [],
    clientId,
    redirectUri,
    consented: readStrings(value, "consented", listItemsMax) ?? [],
    since,
    writtenAt,
    refreshing: readOwn(value, "refreshing") === true,
    reason: reasons.find((reason) => reason === readOwnString(value, "reason")),
  };
}

/** Writers keep to the smaller bounds of `limits`; this one only bounds what is read. */
const listItemsMax = 1_000;

const reasons: readonly ConnectReason[] = [
  "expired",
  "withdrawn",
  "rotation-lost",
  "registration-lost",
  "token-refused",
  "scope-insufficient",
];

function readTokens(value: Json | undefined): Tokens | undefined {
  const accessToken = readOwnString(value, "accessToken");
  if (!isJsonObject(value) || accessToken === undefined) return undefined;
  const expiresAt = readOwn(value, "expiresAt");
  return {
    accessToken,
    refreshToken: readOwnString(value, "refreshToken"),
    expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
    scopes: readStrings(value, "scopes", listItemsMax),
  };
}
