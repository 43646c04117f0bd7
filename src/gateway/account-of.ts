import type { OnAccountOf } from "../upstream/port.ts";
import { given, type Exchange } from "./exchange.ts";

/** On whose account the exchange runs at upstreams, in the session that they keep for `clientSession`. */
export function accountOf(x: Exchange, clientSession: string | undefined): OnAccountOf {
  const principal = given(x.principal, "a principal");
  const { tenant, key: principalKey } = principal;
  return { tenant, principalKey, clientSession, caller: { principal, token: x.callerToken } };
}
