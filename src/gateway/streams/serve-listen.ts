import type { Refusal } from "../../model/refusal.ts";
import type { RpcId } from "../../model/rpc.ts";
import { codecFor } from "../../protocol/codec.ts";
import { notificationMessage } from "../../protocol/jsonrpc.ts";
import { writeJson } from "../../protocol/json/write.ts";
import {
  onSubscription,
  readListenFilter,
  writeListenFilter,
  type ListenFilter,
} from "../../protocol/modern/listen.ts";
import { given, paramsOf, requestIdOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { declaredTo } from "../steps/describe-server.ts";
import { viewOf } from "../steps/view-of.ts";
import { readableAs, subscribableAt } from "./readable.ts";

/**
 * Serves `subscriptions/listen` until one side ends it (2026-07-28, subscriptions): first the acknowledgement, last
 * the result that closes the subscription, where there is still somebody to get it.
 */
export async function serveListen(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const asked = readListenFilter(paramsOf(x), g.limits.sessionSubscriptionsMax);
  if (!asked.ok) return asked.refusal;
  const id = given(requestIdOf(x), "a request");
  const refusal = await g.clientStreams.serveListen(x, g, async () => {
    const filter = await honoured(x, g, asked.value);
    return { id, filter, acknowledge: (kept) => acknowledgement(id, kept) };
  });
  if (refusal !== undefined) return refusal;
  const hints = { serverInfo: { ...g.info }, ttlMs: 0 };
  x.result = codecFor("modern").encodeResult("subscriptions/listen", onSubscription(id, {}), hints);
  return undefined;
}

function acknowledgement(id: RpcId, filter: ListenFilter): string {
  const params = onSubscription(id, { notifications: writeListenFilter(filter) });
  return writeJson(notificationMessage("notifications/subscriptions/acknowledged", params));
}

/** The part of a filter that can be kept for this principal. A resource that is hidden is left out like one that is unknown. */
async function honoured(x: Exchange, g: Gateway, asked: ListenFilter): Promise<ListenFilter> {
  const declared = declaredTo(await viewOf(x, g));
  const uris: string[] = [];
  for (const uri of asked.uris) if (await isSubscribable(x, g, uri)) uris.push(uri);
  return {
    tools: asked.tools && "tools" in declared,
    prompts: asked.prompts && "prompts" in declared,
    resources: asked.resources && "resources" in declared,
    uris,
  };
}

async function isSubscribable(x: Exchange, g: Gateway, uri: string): Promise<boolean> {
  const found = await readableAs(x, g, uri);
  if (found === undefined) return false;
  return (await subscribableAt(x, g, found.upstream))?.tellsOfUpdates === true;
}
