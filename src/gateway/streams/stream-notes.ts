import { readOwnString, type JsonObject } from "../../model/json.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { WatchState } from "../../upstream/port.ts";

/** A legacy session, as streams know it. */
export interface SessionName {
  readonly tenant: string;
  readonly id: string;
}

/** What replicas tell each other about streams (courier topic `stream`). */
export type StreamNote =
  /** A JSON-RPC message for the session's GET stream. */
  | { readonly kind: "message"; readonly session: SessionName; readonly text: string }
  /** The session is over: whichever stream it has ends. */
  | { readonly kind: "over"; readonly session: SessionName }
  /** Another stream took the place of this one. */
  | { readonly kind: "replaced"; readonly session: SessionName; readonly stream: string }
  /** What upstreams are to tell this session has changed: its subscriptions, or the upstreams it uses. */
  | { readonly kind: "interests"; readonly session: SessionName }
  /** How far is the session's stream of this upstream? The answer goes to `address` under `question`. */
  | {
      readonly kind: "hears";
      readonly session: SessionName;
      readonly upstream: string;
      readonly address: string;
      readonly question: string;
    }
  | { readonly kind: "heard"; readonly session: SessionName; readonly question: string; readonly state: WatchState }
  /** An upstream's lists are not what they were. */
  | { readonly kind: "lists"; readonly upstream: string };

export function writeNote(note: StreamNote): string {
  if (note.kind === "lists") return writeJson({ kind: note.kind, upstream: note.upstream });
  const { session, ...rest } = note;
  const written: JsonObject = { ...rest, tenant: session.tenant, session: session.id };
  return writeJson(written);
}

/** Undefined for what another version of the gateway may have written: whoever waits has a deadline. */
export function readNote(text: string): StreamNote | undefined {
  const parsed = parseJsonText(text);
  if (!parsed.ok) return undefined;
  const field = (name: string): string | undefined => readOwnString(parsed.value, name);
  const [kind, upstream, tenant, id] = [field("kind"), field("upstream"), field("tenant"), field("session")];
  if (kind === "lists" && upstream !== undefined) return { kind, upstream };
  if (tenant === undefined || id === undefined) return undefined;
  return aboutSession(kind, { tenant, id }, field);
}

function aboutSession(
  kind: string | undefined,
  session: SessionName,
  field: (name: string) => string | undefined,
): StreamNote | undefined {
  if (kind === "over" || kind === "interests") return { kind, session };
  const [text, stream] = [field("text"), field("stream")];
  if (kind === "message" && text !== undefined) return { kind, session, text };
  if (kind === "replaced" && stream !== undefined) return { kind, session, stream };
  return aboutHearing(kind, session, field);
}

function aboutHearing(
  kind: string | undefined,
  session: SessionName,
  field: (name: string) => string | undefined,
): StreamNote | undefined {
  const [question, upstream, address] = [field("question"), field("upstream"), field("address")];
  if (question === undefined) return undefined;
  if (kind === "hears" && upstream !== undefined && address !== undefined)
    return { kind, session, upstream, address, question };
  const state = watchStates.find((known) => known === field("state"));
  return kind === "heard" && state !== undefined ? { kind, session, question, state } : undefined;
}

const watchStates: readonly WatchState[] = ["opening", "standing", "not-offered", "full", "lost"];
