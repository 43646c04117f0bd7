import { countSignIn } from "./attempts.ts";
import type { DemoUser } from "./options.ts";
import type { CheckPassword } from "./passwords.ts";
import type { GrantRecords } from "./port.ts";

/** What came of a user name and a password. `limited` and `busy` looked at no password. */
export type PasswordAnswer =
  | { readonly kind: "signed-in"; readonly user: DemoUser }
  | { readonly kind: "wrong" }
  | { readonly kind: "limited" }
  | { readonly kind: "busy" };

export interface PasswordAttempt {
  readonly username: string;
  readonly password: string;
  /** Where it comes from: failures are counted by user and address. */
  readonly address: string;
}

/**
 * The one way in by password, for every page that asks for one: attempts are counted together, whichever page they
 * come through, and before the password is looked at.
 */
export async function signInWithPassword(
  { records, checkPassword }: { readonly records: GrantRecords; readonly checkPassword: CheckPassword },
  { username, password, address }: PasswordAttempt,
): Promise<PasswordAnswer> {
  const attempt = await countSignIn(records, { username, address });
  if (attempt === undefined) return { kind: "limited" };
  const user = await checkPassword(username, password);
  if (user === undefined) return { kind: "wrong" };
  await attempt.forget();
  return user === "busy" ? { kind: "busy" } : { kind: "signed-in", user };
}
