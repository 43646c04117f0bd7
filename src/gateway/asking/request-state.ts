import { digestOf } from "../../protocol/json/canonical.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import type { Entry } from "../../catalog/table.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Bound } from "../sealing.ts";

/**
 * Seals an upstream's request state for the client that carries it (2026-07-28, MRTR, "Server Requirements"): to this
 * principal, server, upstream, item as it is defined now, and arguments, for `requestStateMs`.
 */
export function sealState(x: Exchange, g: Gateway, { entry, state }: { entry: Entry; state: string }): string {
  return g.sealing.seal(boundTo(x, entry), state, g.limits.requestStateMs);
}

/**
 * The upstream's own state, byte for byte. Refuses REQUEST_STATE_INVALID for a handle that was altered, is too old, was
 * made for anything else, or was used before where the operator wants each used once; rejects with `StoreUnavailable`
 * when that cannot be told.
 */
export async function openState(
  x: Exchange,
  g: Gateway,
  { entry, handle }: { entry: Entry; handle: string },
): Promise<Result<string>> {
  const bound = boundTo(x, entry);
  const opened = g.sealing.open(bound, handle);
  if (!opened.ok) return { ok: false, refusal: invalid(opened.reason) };
  if (g.treatments.get(entry.item.upstream)?.stateSingleUse !== true) return ok(opened.text);
  const first = await g.asking.spend({ tenant: bound.tenant, handle, expiresAt: opened.expiresAt });
  return first ? ok(opened.text) : { ok: false, refusal: invalid("used") };
}

function boundTo(x: Exchange, { item }: Entry): Bound {
  const { tenant, key } = given(x.principal, "a principal");
  return {
    purpose: "request-state",
    tenant,
    server: x.arrival.server.name,
    principalKey: key,
    upstream: item.upstream,
    item: JSON.stringify([item.kind, item.name, item.digest]),
    args: digestOf(x.args ?? {}),
  };
}

function invalid(reason: string): Refusal {
  return refuse("REQUEST_STATE_INVALID", { reason }).refusal;
}
