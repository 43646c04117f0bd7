import { freeErrorOf, freePromise, freeQuestion, withoutRemoved } from "../removed-fields.ts";
import { methodOf, type Exchange } from "../exchange.ts";

/**
 * Takes the fields away that policy removes from a tool's results, before the result is held to the schema that was
 * shown, which does not promise them either. A call that asks for input, and one that became a task, come to no result
 * yet: of them the members stay that were judged.
 */
export function fitResult(x: Exchange): undefined {
  if (methodOf(x) !== "tools/call") return;
  freeErrorOf(x);
  if (x.result === undefined) return;
  if (x.asksInput) x.result = freeQuestion(x.target?.entry, x.result);
  else if (x.task?.is === "promised") x.result = freePromise(x.target?.entry, x.result);
  else x.result = withoutRemoved(x, x.result);
}
