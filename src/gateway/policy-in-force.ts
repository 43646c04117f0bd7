import type { Policy } from "../policy/compile.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/**
 * The one policy that a call is judged by, from what its principal sees to what is laid upon it: a policy that is put
 * in force meanwhile is for the next call. A stream outlives policies, so each of its messages asks for the one in
 * force (design, "The journey"). So does what an upstream asks of a client while a call is under way: it is a decision
 * of its own, and `g.policy()` is asked for it.
 */
export function policyOf(x: Exchange, g: Gateway): Policy {
  const column = x.classified?.column;
  if (column === "stream" || column === "listen") return g.policy();
  return (x.policy ??= g.policy());
}
