import type { ItemIdentity } from "../../model/item.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Question } from "../../policy/question.ts";
import { given, type Exchange } from "../exchange.ts";

/** The question that policy answers about one item; `args` undefined means they are not known. */
export function questionAbout(x: Exchange, item: ItemIdentity, now: number, args?: JsonObject): Question {
  const classified = given(x.classified, "a classified message");
  return {
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    item: { upstream: item.upstream, kind: item.kind, name: item.name },
    args,
    request: {
      now,
      transport: "http",
      era: classified.era,
      revision: x.session?.revision ?? classified.revision ?? "",
    },
  };
}
