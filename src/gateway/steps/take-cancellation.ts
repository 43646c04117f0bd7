import { readOwn } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { isRpcId } from "../../protocol/jsonrpc.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Cancels the call of *this session* that `notifications/cancelled` names (2025-11-25, utilities, "Cancellation"),
 * here or, within a bound for each principal, on the replica that has it. An id that names no call, or two calls, is accepted and changes nothing:
 * the call may have ended meanwhile, and nobody learns what others run. `initialize` never is among the calls.
 *
 * Whether an id names two calls is known per replica alone: of a session whose calls share an id on two
 * replicas, the call here is cancelled, or both where neither is here.
 */
export async function takeCancellation(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  if (methodOf(x) !== "notifications/cancelled") return undefined;
  const id = readOwn(paramsOf(x), "requestId");
  if (!isRpcId(id)) return undefined;
  const session = given(x.session, "a session");
  if (g.underWay.cancel(session, id) === "not here")
    await g.cancelElsewhere(given(x.principal, "a principal").key, { session, id });
  return undefined;
}
