import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { principalKey } from "../model/principal.ts";
import type { Principal } from "../model/principal.ts";
import { whoFields } from "./language.ts";
import { at, fault, readMapping, readText, readWords } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";
import { readJson } from "./read-presets.ts";

/** An issuer whose principals can be described. */
export interface DescribedIssuer {
  readonly alias: string;
  readonly issuer: string;
  /** Undefined where each token names its own. */
  readonly tenant: string | undefined;
}

export interface PrincipalNames {
  readonly issuers: readonly DescribedIssuer[];
  /** Claims that issuers map for policy; undefined when that is not known, and not checked. */
  readonly claims?: readonly string[] | undefined;
  /** What a token's scopes are worth (hierarchies, implications). */
  readonly held: (scopes: readonly string[]) => readonly string[];
}

/** The fields of `who` but `anyone`: whom a rule is for and who somebody is are said in the same words. */
export const principalFields: readonly string[] = whoFields.filter((field) => field !== "anyone");

/**
 * Reads the description of somebody who acts. Only what is said is held: no group, no scope, no claim comes by itself.
 * Unsaid: `kind` human, `subject` somebody, `client` none, `tenant` the issuer's, else `default`. `issuer` may be left
 * out where only one is configured. A group of another issuer is a fault, as no token could bring it.
 */
export function readPrincipal(place: Place, value: unknown, names: PrincipalNames): Principal | undefined {
  const fields = readMapping(place, value, principalFields);
  if (fields === undefined) return undefined;
  const issuer = readIssuer(at(place, "issuer"), fields.get("issuer"), names);
  if (issuer === undefined) return undefined;
  const text = (name: string, otherwise: string): string =>
    fields.has(name) ? (readText(at(place, name), fields.get(name), "a text") ?? otherwise) : otherwise;
  const words = (name: string): readonly string[] =>
    fields.has(name) ? (readWords(at(place, name), fields.get(name), false)?.words ?? []) : [];
  const identity = {
    tenant: text("tenant", issuer.tenant ?? "default"),
    issuer: issuer.issuer,
    kind: readKind(at(place, "kind"), fields.get("kind")),
    subject: text("subject", "somebody"),
    clientId: text("client", ""),
  };
  const groups = words("groups");
  for (const group of groups) checkGroup(at(place, "groups"), group, issuer.alias);
  return {
    ...identity,
    issuerAlias: issuer.alias,
    groups,
    scopes: names.held(words("scopes")),
    claims: fields.has("claims") ? readClaims(at(place, "claims"), fields.get("claims"), names) : {},
    expiresAt: Number.MAX_SAFE_INTEGER,
    key: principalKey(identity),
  };
}

function readIssuer(place: Place, value: unknown, { issuers }: PrincipalNames): DescribedIssuer | undefined {
  const [only, ...others] = issuers;
  if (value === undefined && only !== undefined && others.length === 0) return only;
  const found = issuers.find(({ alias }) => alias === value);
  const expected = `one of ${issuers.map(({ alias }) => alias).join(", ")}`;
  if (found === undefined) fault(place, value, expected, "no issuer is configured under this alias");
  return found;
}

function readKind(place: Place, value: unknown): Principal["kind"] {
  if (value === undefined || value === "human") return "human";
  if (value !== "service") fault(place, value, "human or service", "a principal is human or service");
  return "service";
}

function checkGroup(place: Place, group: string, alias: string): void {
  if (group.startsWith(`${alias}:`)) return;
  fault(place, group, `${alias}:<group>`, "a principal holds groups of its own issuer alone");
}

function readClaims(place: Place, value: unknown, { claims }: PrincipalNames): JsonObject {
  const read = readJson(place, value, limits.jsonDepthMax);
  if (!isJsonObject(read)) {
    fault(place, value, "a mapping of claim to value", "expected a mapping of claim to value");
    return {};
  }
  const held: JsonObject = {};
  for (const [name, entry] of Object.entries(read)) {
    if (claims?.includes(name) === false) {
      const expected = claims.length === 0 ? "no claim, as none is mapped" : `one of ${claims.join(", ")}`;
      fault(at(place, name), name, expected, "no issuer maps this claim");
    } else held[name] = entry;
  }
  return held;
}
