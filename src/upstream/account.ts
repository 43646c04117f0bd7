import type { OnAccountOf } from "./port.ts";

/**
 * An account as what outlives an exchange keeps it: without the caller's token. What goes on by itself shows what
 * was exchanged for the token as long as that is good, and cannot have another (see `Credential`).
 */
export function lasting(account: OnAccountOf): OnAccountOf {
  const { caller } = account;
  return caller?.token === undefined ? account : { ...account, caller: { ...caller, token: undefined } };
}
