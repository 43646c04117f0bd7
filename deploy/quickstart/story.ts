import type { JsonObject } from "../../src/model/json.ts";
import { readOwn, readOwnString } from "../../src/model/json.ts";
import { metaPrefix } from "../../src/model/identifiers.ts";
import type { SdkClient, Loose } from "./clients.ts";
import type { Evidence, Sought } from "./evidence.ts";
import type { Narrator } from "./narrate.ts";
import type { Person } from "./person.ts";
import type { Quickstart } from "./start.ts";

/** Somebody with a client that is signed in. */
export interface Signed {
  readonly person: Person;
  readonly client: SdkClient;
}

/** Everything a chapter of the story may use. */
export interface Story {
  readonly quickstart: Quickstart;
  readonly evidence: Evidence;
  readonly narrator: Narrator;
  /** Support lead, SDK v2, the modern revision. */
  readonly alice: Signed;
  /** Support, SDK v1, a legacy revision. */
  readonly bob: Signed;
}

/** How often a tool reached its upstream, by the upstream's own account. */
export function timesReached({ quickstart }: Story, tool: string): number {
  const received = [...quickstart.tickets.received, ...quickstart.crm.received];
  return received.filter(({ method, name }) => method === "tools/call" && name === tool).length;
}

export interface CallResult {
  readonly isError: boolean;
  /** All text parts of the content, joined. */
  readonly text: string;
  readonly structured: Readonly<Loose> | undefined;
  readonly meta: Readonly<Loose>;
}

export async function call(client: SdkClient, name: string, args: Loose): Promise<CallResult> {
  const result = await client.callTool(name, args);
  const content = (result["content"] ?? []) as readonly { type: string; text?: string }[];
  return {
    isError: result["isError"] === true,
    text: content.map(({ text }) => text ?? "").join("\n"),
    structured: result["structuredContent"] as CallResult["structured"],
    meta: (result["_meta"] ?? {}) as Loose,
  };
}

export interface RefusedCall {
  readonly code: string;
  readonly ref: string;
}

/** The refusal that a result with `isError` carries. */
export function refusalOf(result: CallResult): RefusedCall {
  const refusal = result.meta[`${metaPrefix}refusal`] as Partial<RefusedCall> | undefined;
  return { code: refusal?.code ?? "", ref: refusal?.ref ?? "" };
}

/** Prints every event with a reference and returns the last one. */
export async function quoteEvidence({ evidence, narrator }: Story, ref: string): Promise<JsonObject> {
  const { events, lines } = await evidence.told(ref);
  narrator.say(`The evidence, by its reference ${ref}:`);
  narrator.quote(lines);
  return events.at(-1) ?? {};
}

/** Makes a call and returns its result with the event that it left, whose reference no success tells its caller. */
export async function calling(
  { evidence }: Story,
  sought: Sought,
  act: () => Promise<CallResult>,
): Promise<{ result: CallResult; event: JsonObject; ref: string }> {
  const next = await evidence.watch(sought);
  const result = await act();
  const event = await next();
  return { result, event, ref: readOwnString(event, "ref") ?? "" };
}

/** The digest of the definition that a call was made with. */
export function digestIn(event: JsonObject): string {
  return readOwnString(readOwn(event, "item"), "digest") ?? "";
}
