import { readOwnString } from "../../model/json.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";

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
  /** An upstream's lists are not what they were. */
  | { readonly kind: "lists"; readonly upstream: string };

export function writeNote(note: StreamNote): string {
  const { kind } = note;
  if (kind === "lists") return writeJson({ kind, upstream: note.upstream });
  const about = { kind, tenant: note.session.tenant, session: note.session.id };
  if (kind === "message") return writeJson({ ...about, text: note.text });
  return writeJson(kind === "replaced" ? { ...about, stream: note.stream } : about);
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
  return kind === "replaced" && stream !== undefined ? { kind, session, stream } : undefined;
}
