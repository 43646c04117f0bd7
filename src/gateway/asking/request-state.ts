import type { AskedKinds } from "../../model/client-feature.ts";
import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Refused, type Result } from "../../model/result.ts";
import { readAskedKinds, writeAskedKinds } from "../../protocol/asked-kinds.ts";
import { digestOf } from "../../protocol/json/canonical.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { Entry } from "../../catalog/table.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Bound } from "../sealing.ts";

/** What a client is given to come back with. */
export interface HeldState {
  /** The upstream's own, byte for byte; undefined when it gave none. */
  readonly state: string | undefined;
  /** What the client was asked along with it. */
  readonly asked: AskedKinds;
  /**
   * Present: the gateway itself asked, for a connection, before the upstream had the call. The answers are the ones
   * that the call itself resumes with, and `state` belongs to them.
   */
  readonly connects?: { readonly responses: JsonObject | undefined } | undefined;
}

export interface OpenedState extends HeldState {
  readonly handle: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Seals an upstream's request state, and what it asks, for the client that carries it (2026-07-28, MRTR, "Server
 * Requirements"): to this principal, server, upstream, item as it is defined now, and arguments, for `requestStateMs`.
 */
export function sealState(x: Exchange, g: Gateway, { entry, held }: { entry: Entry; held: HeldState }): string {
  return g.sealing.seal(boundTo(x, entry), writeHeld(held), g.limits.requestStateMs);
}

/** What a handle holds. Refuses REQUEST_STATE_INVALID for one that was altered, is too old, or made for anything else. */
export function openState(
  x: Exchange,
  g: Gateway,
  { entry, handle }: { entry: Entry; handle: string },
): Result<OpenedState> {
  const opened = g.sealing.open(boundTo(x, entry), handle);
  if (!opened.ok) return invalid(opened.reason);
  const held = readHeld(opened.text);
  return held === undefined ? invalid("malformed") : ok({ ...held, handle, expiresAt: opened.expiresAt });
}

/**
 * Notes that a state is used. Refuses REQUEST_STATE_INVALID for one that was used before where the operator wants each
 * used once; rejects with `StoreUnavailable` when that cannot be told.
 */
export async function spendState(
  x: Exchange,
  g: Gateway,
  { entry, opened: { handle, expiresAt } }: { entry: Entry; opened: OpenedState },
): Promise<Refusal | undefined> {
  if (g.treatments.get(entry.item.upstream)?.stateSingleUse !== true) return undefined;
  const { tenant } = given(x.principal, "a principal");
  return (await g.asking.spend({ tenant, handle, expiresAt })) ? undefined : invalid("used").refusal;
}

/** The state follows a line of its own unescaped: quoted once more it could have twice its length, and not fit. */
function writeHeld({ state, asked, connects }: HeldState): string {
  const own: JsonObject = connects === undefined ? {} : { connects: true };
  if (connects?.responses !== undefined) own["responses"] = connects.responses;
  const head = writeJson({ asked: writeAskedKinds(asked), stateless: state === undefined, ...own });
  return `${head}\n${state ?? ""}`;
}

/** Authentic, so our own writing or that of another version. */
function readHeld(text: string): HeldState | undefined {
  const end = text.indexOf("\n");
  const head = parseJsonText(text.slice(0, Math.max(0, end)));
  const asked = head.ok ? readAskedKinds(readOwn(head.value, "asked")) : undefined;
  if (!head.ok || asked === undefined) return undefined;
  const responses = readOwn(head.value, "responses");
  const connects =
    readOwn(head.value, "connects") === true
      ? { responses: isJsonObject(responses) ? responses : undefined }
      : undefined;
  return { asked, connects, state: readOwn(head.value, "stateless") === true ? undefined : text.slice(end + 1) };
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

function invalid(reason: string): Refused {
  return refuse("REQUEST_STATE_INVALID", { reason });
}
