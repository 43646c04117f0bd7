import { readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { readClaim } from "../model/read-claim.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";

/** Somebody as the provider's claims describe them. */
export interface Person {
  /** The claim that configuration names, `sub` unless it says otherwise. */
  readonly subject: string;
  /** For pages alone: the person may have chosen it. Falls back to the subject. */
  readonly name: string;
  readonly email: string | undefined;
  /** Exactly what `email_verified` says; absent is false. */
  readonly emailVerified: boolean;
  /** As the provider writes them, without the alias. */
  readonly groups: readonly string[];
  readonly claims: JsonObject;
}

export interface PersonRules {
  readonly subjectFrom: string;
  readonly groupsClaim: string | undefined;
  readonly limits: Pick<Limits, "identityCharsMax" | "groupsPerPersonMax">;
}

/**
 * The person that verified claims describe. A claim of the wrong shape is refused (SIGNIN_ANSWER_INVALID), never read
 * as empty: a rule that denies a group must not fail to match because groups were lost.
 */
export function readPerson(claims: JsonObject, rules: PersonRules): Result<Person> {
  const emailVerified = readOwn(claims, "email_verified") === true;
  const subject = readClaim(claims, rules.subjectFrom);
  if (typeof subject !== "string" || subject === "") return unreadable(rules.subjectFrom, "missing or not text");
  if (subject.length > rules.limits.identityCharsMax) return unreadable(rules.subjectFrom, "too long");
  // Whoever can write any address into a profile would otherwise be whomever they like.
  if (rules.subjectFrom === "email" && !emailVerified) return unreadable("email", "not verified");
  const groups = readGroups(claims, rules);
  if (!groups.ok) return groups;
  const email = readOwn(claims, "email");
  const name = readOwn(claims, "name");
  return ok({
    subject,
    name: typeof name === "string" && name !== "" ? name.slice(0, rules.limits.identityCharsMax) : subject,
    email: typeof email === "string" ? email : undefined,
    emailVerified,
    groups: groups.value,
    claims,
  });
}

function readGroups(claims: JsonObject, { groupsClaim, limits }: PersonRules): Result<readonly string[]> {
  if (groupsClaim === undefined) return ok([]);
  // With very many groups some providers send a pointer to them instead (OpenID Connect Core §5.6.2).
  if (readOwn(readOwn(claims, "_claim_names"), groupsClaim) !== undefined)
    return unreadable(groupsClaim, "distributed claim");
  const value = readClaim(claims, groupsClaim);
  const groups = value === undefined ? [] : textList(value);
  if (groups === undefined) return unreadable(groupsClaim, "not a list of text");
  return groups.length > limits.groupsPerPersonMax ? unreadable(groupsClaim, "too many") : ok(groups);
}

function textList(value: Json): readonly string[] | undefined {
  if (typeof value === "string") return [value];
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
}

/** The claim and what is wrong with it are told, its value is not. */
function unreadable(claim: string, reason: string): Refused {
  return refuse("SIGNIN_ANSWER_INVALID", { claim, reason });
}
