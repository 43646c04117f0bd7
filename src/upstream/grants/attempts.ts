import { createHash } from "node:crypto";
import { isJsonObject, readOwn, readOwnString } from "../../model/json.ts";
import type { RecordKey } from "../../model/records.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import type { GrantsOptions } from "./options.ts";
import type { Person } from "./port.ts";
import { readStrings } from "./read-document.ts";

/** One sign-in at an upstream's authorization server that is under way. */
export interface Attempt {
  readonly person: Person;
  /** The gateway's client for which the person connects. */
  readonly clientId: string;
  readonly upstream: string;
  readonly issuer: string;
  /** The gateway's own registration there. */
  readonly registeredId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly verifier: string;
  readonly scopes: readonly string[];
}

/** Attempts at rest: sealed, under the digest of a random name that only the browser session knows. */
export interface Attempts {
  /** Returns the name to keep with the browser session; undefined when the person has begun too many lately. */
  keep(attempt: Attempt): Promise<string | undefined>;
  /** Takes the attempt that is this person's and has this state; anything else leaves it where it is. */
  take(
    name: string,
    of: { readonly person: Person; readonly state: string },
  ): Promise<Attempt | "unknown" | "not-yours">;
}

export function createAttempts({ records, sealer, random, limits }: GrantsOptions): Attempts {
  const open = (key: RecordKey, sealed: string | undefined): Attempt | undefined => {
    const text = sealed === undefined ? undefined : sealer.open(JSON.stringify(key), sealed);
    return text === undefined ? undefined : readAttempt(text);
  };
  return {
    keep: async (attempt) => {
      const begun = await records.increment(countOf(attempt.person), limits.grantAttemptMs);
      if (begun > limits.grantAttemptsMax) return undefined;
      const name = Buffer.from(random(24)).toString("base64url");
      const key = keyOf(attempt.person, name);
      await records.set(key, sealer.seal(JSON.stringify(key), JSON.stringify(attempt)), limits.grantAttemptMs);
      return name;
    },
    take: async (name, { person, state }) => {
      const key = keyOf(person, name);
      const seen = open(key, await records.get(key));
      if (seen === undefined) return "unknown";
      // Looked at before it is consumed: a forged answer must not use up the real one's attempt.
      if (!isSame(seen.person, person) || !sameText(seen.state, state)) return "not-yours";
      return open(key, await records.take(key)) ?? "unknown";
    },
  };
}

function keyOf({ tenant }: Person, name: string): RecordKey {
  return ["grant-attempt", tenant, createHash("sha256").update(name).digest("hex")];
}

function countOf({ tenant, issuer, subject }: Person): RecordKey {
  const digest = createHash("sha256")
    .update(JSON.stringify([tenant, issuer, subject]))
    .digest("hex");
  return ["grant-attempts", tenant, digest];
}

function isSame(one: Person, other: Person): boolean {
  return one.tenant === other.tenant && one.issuer === other.issuer && one.subject === other.subject;
}

/** By digest, so that the time it takes says nothing of how much agrees. */
function sameText(one: string, other: string): boolean {
  const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
  return digest(one) === digest(other);
}

/** Our own writing: undefined for what is none. */
function readAttempt(text: string): Attempt | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  if (!isJsonObject(value)) return undefined;
  const person = readOwn(value, "person");
  const textOf = (name: string): string => readOwnString(value, name) ?? "";
  return {
    person: {
      tenant: readOwnString(person, "tenant") ?? "",
      issuer: readOwnString(person, "issuer") ?? "",
      subject: readOwnString(person, "subject") ?? "",
    },
    clientId: textOf("clientId"),
    upstream: textOf("upstream"),
    issuer: textOf("issuer"),
    registeredId: textOf("registeredId"),
    redirectUri: textOf("redirectUri"),
    state: textOf("state"),
    verifier: textOf("verifier"),
    scopes: readStrings(value, "scopes", 1_000) ?? [],
  };
}
