import type { Reader } from "../catalog/personal.ts";
import type { Principal } from "../model/principal.ts";
import { accountOf } from "./account-of.ts";
import { given, type Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/** For whom the lists of the exchange's server are read; undefined where they are the same for everybody. */
export function readerOf(x: Exchange, g: Gateway): Reader | undefined {
  if (!g.catalog.isPersonal(x.arrival.server.name)) return undefined;
  const principal = given(x.principal, "a principal");
  const source = g.definitionsFor(accountOf(x, undefined));
  return { key: keyOf(principal), principalKey: principal.key, source };
}

/** A remembered token yields the same principal object. */
const keys = new WeakMap<Principal, string>();

/**
 * What a credential for the principal may depend on: who that is, and with which rights their token came. The
 * generation of every credential that differs by caller follows from these.
 */
function keyOf(principal: Principal): string {
  let key = keys.get(principal);
  if (key === undefined) {
    const { key: who, groups, scopes, claims } = principal;
    keys.set(principal, (key = JSON.stringify([who, groups, scopes, claims])));
  }
  return key;
}
