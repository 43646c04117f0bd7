import type { People } from "./people.ts";

/**
 * The same people without those who are denied: they get no token, by whatever grant they had before. Rejects with
 * `StoreUnavailable` where nobody can tell.
 */
export function admittedPeople(people: People, isDenied: ((subject: string) => Promise<boolean>) | undefined): People {
  if (isDenied === undefined) return people;
  return {
    find: async (subject) => ((await isDenied(subject)) ? undefined : people.find(subject)),
    findAnew: async (subject) => ((await isDenied(subject)) ? undefined : people.findAnew(subject)),
  };
}
