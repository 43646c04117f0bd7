import { randomUUID } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { digestOf } from "./digest.ts";
import type { GrantRecords } from "./port.ts";

/** Something counted within a window, shared by all replicas. */
export interface Attempt {
  /** Takes the attempt back: it was none, such as a sign-in that succeeded. */
  forget(): Promise<void>;
}

/**
 * Counts a sign-in before the password is looked at, so that parallel guesses cannot pass the bound
 * together. Undefined when the user has failed too often, from this address or altogether. Behind a
 * proxy all people share its address, hence no bound on an address alone.
 */
export async function countSignIn(
  records: GrantRecords,
  who: { readonly username: string; readonly address: string },
): Promise<Attempt | undefined> {
  const here = await count(records, ["oauthSignIns", "default", digestOf(who.username), digestOf(who.address)], {
    max: limits.oauthSignInFailuresMax,
    windowMs: limits.oauthSignInWindowMs,
  });
  if (here === undefined) return undefined;
  const anywhere = await count(records, ["oauthSignIns", "default", digestOf(who.username)], {
    max: limits.oauthSignInFailuresPerUserMax,
    windowMs: limits.oauthSignInWindowMs,
  });
  if (anywhere === undefined) return undefined;
  return {
    forget: async () => {
      await Promise.all([here.forget(), anywhere.forget()]);
    },
  };
}

/** Counts a registration; undefined when this address, or all of them together, have made too many. */
export async function countRegistration(records: GrantRecords, address: string): Promise<Attempt | undefined> {
  const windowMs = limits.oauthRegistrationWindowMs;
  const here = await count(records, ["oauthRegistrations", "default", digestOf(address)], {
    max: limits.oauthRegistrationsMax,
    windowMs,
  });
  if (here === undefined) return undefined;
  return count(records, ["oauthRegistrations", "default"], { max: limits.oauthRegistrationsOfAllMax, windowMs });
}

async function count(
  records: GrantRecords,
  key: RecordKey,
  { max, windowMs }: { readonly max: number; readonly windowMs: number },
): Promise<Attempt | undefined> {
  const member = randomUUID();
  const forget = (): Promise<void> => records.removeMember(key, member);
  if ((await records.addMember(key, member, windowMs)) <= max) return { forget };
  await forget();
  return undefined;
}
