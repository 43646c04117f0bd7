import type { Refusal } from "../../model/refusal.ts";
import { accountOf } from "../account-of.ts";
import type { Exchange } from "../exchange.ts";

/**
 * Sets `account`: on whose account the exchange runs, from which the sender derives session and
 * credential. The secret itself joins the request at the last moment, in `upstream/`, from empty
 * headers: nothing the client sent can become an authorization header.
 */
export function attachCredential(x: Exchange): Refusal | undefined {
  if (x.target?.entry === undefined) return undefined;
  x.account = accountOf(x, x.session?.id);
  return undefined;
}
