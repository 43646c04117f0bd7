import type { Refusal } from "../../model/refusal.ts";
import { clientMethods } from "../../protocol/methods.ts";
import { accountOf } from "../account-of.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { answerList } from "./answer-list.ts";
import { describeServer } from "./describe-server.ts";
import { setLogLevel } from "./set-log-level.ts";

/** Sets the answer to what the gateway answers itself: lists, ping, discovery, notifications, the end of a session. */
export function answerHere(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const { era, column } = given(x.classified, "a classified message");
  if (column === "notification") return undefined;
  if (column === "delete") return endSession(x, g);
  if (column === "discover" || column === "initialize") return describeServer(x, g);
  const method = clientMethods(era).get(methodOf(x));
  if (method?.list !== undefined) return answerList(x, g, method.list);
  if (methodOf(x) === "logging/setLevel") return setLogLevel(x, g);
  if (method?.target === undefined) x.result = {};
  return undefined;
}

async function endSession(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const session = given(x.session, "a session");
  const principal = given(x.principal, "a principal");
  const ended = await g.sessions.end({ id: session.id, principal, server: x.arrival.server.name });
  if (!ended.ok) return ended.refusal;
  await g.clientStreams.sessionEnded({ tenant: principal.tenant, id: session.id });
  await g.upstreams.endSessions(accountOf(x, session.id));
  return undefined;
}
