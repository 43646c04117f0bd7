import type { Account, KoaContextWithOIDC } from "oidc-provider";
import type { Person } from "./people.ts";

/** A person as the library carries them through a request. */
export function accountOf(person: Person): Account {
  return { accountId: person.subject, claims: () => ({ sub: person.subject }), person };
}

/** The person that a request is about; undefined for a service, and before anybody has signed in. */
export function personIn(ctx: KoaContextWithOIDC): Person | undefined {
  const person: unknown = ctx.oidc.account?.["person"];
  return isPerson(person) ? person : undefined;
}

/** Only {@link accountOf} writes it. */
function isPerson(value: unknown): value is Person {
  return typeof value === "object" && value !== null && "subject" in value;
}
