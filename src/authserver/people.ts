import type { DemoUser } from "./options.ts";
import { permittedScopes, type ScopesByGroup } from "./permitted-scopes.ts";

/** Somebody who has signed in, as tokens describe them. */
export interface Person {
  /** Becomes the `sub` claim. */
  readonly subject: string;
  /** Shown on the consent page. */
  readonly name: string;
  /** Become the `groups` claim, unqualified: the verifier adds the issuer's alias. */
  readonly groups: readonly string[];
  /** The most that tokens for this person carry; undefined: whatever a server supports. */
  readonly scopes: readonly string[] | undefined;
}

/** Whose sign-ins count. */
export interface People {
  /** Undefined when this person no longer signs in here, or has to sign in anew. */
  find(subject: string): Promise<Person | undefined>;
  /** The same, once whoever vouches for them has been asked: for refreshing a sign-in. */
  findAnew(subject: string): Promise<Person | undefined>;
}

/** The configured users: they are there, or they are not. */
export function localPeople(users: readonly DemoUser[], scopesByGroup: ScopesByGroup | undefined): People {
  const people = new Map(users.map((user) => [user.subject, personOf(user, scopesByGroup)]));
  const find = (subject: string): Promise<Person | undefined> => Promise.resolve(people.get(subject));
  return { find, findAnew: find };
}

function personOf({ subject, name, groups, scopes }: DemoUser, scopesByGroup: ScopesByGroup | undefined): Person {
  return { subject, name, groups, scopes: permittedScopes({ groups, own: scopes }, scopesByGroup) };
}
