import { readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { readClaim } from "../model/read-claim.ts";
import { readGroups } from "../model/read-groups.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { isEmailClaim, spelledSubject } from "../model/spelled-subject.ts";

/** Somebody as the provider's claims describe them. */
export interface Person {
  /** Of the claim that configuration names, `sub` unless it says otherwise; an e-mail address in its one spelling. */
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
  const named = readClaim(claims, rules.subjectFrom);
  if (typeof named !== "string" || named === "") return unreadable(rules.subjectFrom, "missing or not text");
  if (named.length > rules.limits.identityCharsMax) return unreadable(rules.subjectFrom, "too long");
  // Whoever can write any address into a profile would otherwise be whomever they like.
  if (isEmailClaim(rules.subjectFrom) && !emailVerified) return unreadable("email", "not verified");
  const subject = spelledSubject(rules.subjectFrom, named);
  const groups = groupsOf(claims, rules);
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

function groupsOf(claims: JsonObject, { groupsClaim, limits }: PersonRules): Result<readonly string[]> {
  const read = readGroups(claims, groupsClaim);
  if (!read.ok) return unreadable(groupsClaim ?? "", read.reason);
  return read.groups.length > limits.groupsPerPersonMax ? unreadable(groupsClaim ?? "", "too many") : ok(read.groups);
}

/** The claim and what is wrong with it are told, its value is not. */
function unreadable(claim: string, reason: string): Refused {
  return refuse("SIGNIN_ANSWER_INVALID", { claim, reason });
}
