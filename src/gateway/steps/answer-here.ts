import type { ItemKind } from "../../model/item.ts";
import type { JsonObject } from "../../model/json.ts";
import { readOwn } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { clientMethods } from "../../protocol/methods.ts";
import { codecFor } from "../../protocol/codec.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { View } from "../../catalog/views.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { describeServer } from "./describe-server.ts";
import { catalogUnavailable } from "./view-of.ts";

/** Sets the answer to what the gateway answers itself: lists, ping, discovery, notifications, the end of a session. */
export function answerHere(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const { era, column } = given(x.classified, "a classified message");
  if (column === "notification") return undefined;
  if (column === "delete") return endSession(x, g);
  if (column === "discover" || column === "initialize") return describeServer(x, g);
  const method = clientMethods(era).get(methodOf(x));
  if (method?.list !== undefined) return answerList(x, g, method.list);
  if (method?.target === undefined) x.result = {};
  return undefined;
}

async function endSession(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const session = given(x.session, "a session");
  const principal = given(x.principal, "a principal");
  await g.sessions.end({ id: session.id, principal, server: x.arrival.server.name });
  await g.upstreams.endSessions(principal.tenant, session.id);
  return undefined;
}

/**
 * A list holds everything this principal may see. It is an error, never an empty list, when nothing is
 * to be shown because an upstream cannot be read.
 */
function answerList(x: Exchange, g: Gateway, kind: ItemKind): Refusal | undefined {
  if (readOwn(paramsOf(x), "cursor") !== undefined) return refuse("CURSOR_INVALID").refusal;
  const view = given(x.view, "a view");
  const { era } = given(x.classified, "a classified message");
  const shown = view.visibleBy[kind].length;
  if (shown === 0 && view.table.missing.length > 0) return catalogUnavailable(view);
  x.listed = { shown, known: view.table.entries.length };
  x.resultText = view.listText(`${era} ${kind}`, () =>
    writeJson(
      codecFor(era).encodeResult(methodOf(x), listResult(view, kind), {
        serverInfo: { ...g.info },
        ttlMs: g.limits.viewAgeMsMax,
      }),
    ),
  );
  return undefined;
}

const listKeys: Readonly<Record<ItemKind, string>> = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "resourceTemplates",
};

function listResult(view: View, kind: ItemKind): JsonObject {
  return { [listKeys[kind]]: view.visibleBy[kind].map((entry) => entry.shown) };
}
