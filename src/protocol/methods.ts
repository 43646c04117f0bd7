import type { ItemKind } from "../model/item.ts";
import type { Era } from "../model/revision.ts";

/** Which column of the journey an exchange takes. GET and DELETE have no message, so no method leads to `stream` and `delete`. */
export type Column = "initialize" | "call" | "notification" | "listen" | "discover" | "delete" | "stream" | "task";

export interface ClientMethod {
  readonly column: Column;
  /** What a call is aimed at; absent when it is aimed at the gateway itself. */
  readonly target?: "tool" | "prompt" | "resource" | "list" | "completion";
  /** For lists: of what. */
  readonly list?: ItemKind;
}

type Entries = readonly (readonly [method: string, entry: ClientMethod])[];

const itemMethods: Entries = [
  ["tools/list", { column: "call", target: "list", list: "tool" }],
  ["tools/call", { column: "call", target: "tool" }],
  ["resources/list", { column: "call", target: "list", list: "resource" }],
  ["resources/templates/list", { column: "call", target: "list", list: "template" }],
  ["resources/read", { column: "call", target: "resource" }],
  ["prompts/list", { column: "call", target: "list", list: "prompt" }],
  ["prompts/get", { column: "call", target: "prompt" }],
  ["completion/complete", { column: "call", target: "completion" }],
];

const legacyMethods: ReadonlyMap<string, ClientMethod> = new Map<string, ClientMethod>([
  ["initialize", { column: "initialize" }],
  ["ping", { column: "call" }],
  ["resources/subscribe", { column: "call", target: "resource" }],
  ["resources/unsubscribe", { column: "call", target: "resource" }],
  ["logging/setLevel", { column: "call" }],
  ...itemMethods,
  ["tasks/get", { column: "task" }],
  ["tasks/result", { column: "task" }],
  ["tasks/list", { column: "task" }],
  ["tasks/cancel", { column: "task" }],
  ["notifications/initialized", { column: "notification" }],
  ["notifications/cancelled", { column: "notification" }],
  ["notifications/progress", { column: "notification" }],
  ["notifications/roots/list_changed", { column: "notification" }],
]);

const modernMethods: ReadonlyMap<string, ClientMethod> = new Map<string, ClientMethod>([
  ["server/discover", { column: "discover" }],
  ["subscriptions/listen", { column: "listen" }],
  ...itemMethods,
  ["tasks/get", { column: "task" }],
  ["tasks/update", { column: "task" }],
  ["tasks/cancel", { column: "task" }],
  ["notifications/cancelled", { column: "notification" }],
]);

/**
 * Every method and notification that a client of this era may send. What is absent does not exist: a method
 * is refused as `RPC_METHOD_UNKNOWN`, a notification is accepted and reaches nobody.
 *
 * 2026-07-28 has neither `initialize` nor `ping`. Its `notifications/cancelled` is meant for stdio, yet
 * clients post it before they close the stream.
 */
export function clientMethods(era: Era): ReadonlyMap<string, ClientMethod> {
  return era === "modern" ? modernMethods : legacyMethods;
}
