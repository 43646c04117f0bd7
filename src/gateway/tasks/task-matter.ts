import type { AskedKinds } from "../../model/client-feature.ts";
import type { JsonObject } from "../../model/json.ts";
import { given, type Exchange } from "../exchange.ts";
import type { TaskName, TaskOwner } from "./task-book.ts";

/**
 * What an exchange has to do with a task:
 * - `wanted`: a legacy call that asks for one, `task` being what it asks of it.
 * - `understood`: a modern call whose client takes a task for an answer.
 * - `promised`: a call that became one.
 * - `known`: a request about one. `asked` is what its client was last told that the task asks, as far as that is known.
 */
export type TaskMatter =
  | { readonly is: "wanted"; readonly task: JsonObject }
  | { readonly is: "understood" }
  | { readonly is: "promised" }
  | {
      readonly is: "known";
      readonly name: TaskName;
      readonly handle: string;
      readonly asked: AskedKinds | undefined;
    };

export function ownerOf(x: Exchange): TaskOwner {
  const { tenant, key } = given(x.principal, "a principal");
  return { tenant, server: x.arrival.server.name, principalKey: key };
}
