import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { Json } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import type { Refusal } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import type { RpcError, RpcMessage } from "../model/rpc.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { answerBounds } from "./answer-bounds.ts";
import { readMessage } from "../protocol/jsonrpc.ts";
import type { Reply } from "./reply.ts";

export interface AnswerHead {
  readonly status: number;
  readonly sessionId: string | undefined;
  /** `WWW-Authenticate`, as it came. */
  readonly challenge: string | undefined;
}

/**
 * Judges a complete JSON body as the answer to the request `id`. Only a response with exactly that id is one
 * (JSON-RPC 2.0 §5); ids are made by this process and never occur twice, so the comparison needs no context.
 * Refusals: UPSTREAM_ANSWER_INVALID, UPSTREAM_ANSWER_UNMATCHED. Not checked: the shape of the result.
 */
export function readJsonAnswer(head: AnswerHead, bytes: Uint8Array, id: string): Reply {
  const message = readAnswerMessage(parseJson(bytes, answerBounds));
  if (isSuccess(head.status)) return readSuccess(head, message, id, bytes.byteLength);
  if (!message.ok || message.value.kind !== "response") return rejected(head);
  const response = message.value;
  const error = "error" in response ? response.error : undefined;
  // A status other than 2xx is a rejection whatever its body claims: a result under it is no success.
  if (error === undefined || response.id === undefined) return rejected(head, error);
  return response.id === id ? { kind: "response", ...head, response, bytes: bytes.byteLength } : rejected(head);
}

function readSuccess(head: AnswerHead, message: Result<RpcMessage>, id: string, bytes: number): Reply {
  if (!message.ok) return unanswered(message.refusal);
  if (message.value.kind !== "response") return invalid({ reason: message.value.kind });
  if (message.value.id === id) return { kind: "response", ...head, response: message.value, bytes };
  const anonymous = "error" in message.value && message.value.id === undefined;
  const { refusal } = refuse("UPSTREAM_ANSWER_UNMATCHED", { status: head.status });
  return unanswered(refusal, anonymous && "error" in message.value ? message.value.error : undefined);
}

/** A parsed body or event as a message; what it fails on is a fact, its text is not. */
export function readAnswerMessage(parsed: Result<Json>): Result<RpcMessage> {
  if (!parsed.ok) return refuse("UPSTREAM_ANSWER_INVALID", { reason: parsed.refusal.code });
  const message = readMessage(parsed.value);
  return message.ok ? ok(message.value) : refuse("UPSTREAM_ANSWER_INVALID", { reason: message.refusal.code });
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

export function rejected({ status, challenge }: AnswerHead, error?: RpcError): Reply {
  return { kind: "status", status, challenge, error };
}

/** No answer to a request that may have been executed. */
export function unanswered(refusal: Refusal, error?: RpcError): Reply {
  return { kind: "none", refusal, sent: true, error };
}

export function invalid(facts: Readonly<Record<string, string | number>>): Reply {
  return unanswered(refuse("UPSTREAM_ANSWER_INVALID", facts).refusal);
}

/**
 * Undoes a content coding (RFC 9110 §8.4) that came although `identity` was asked for: the call has been
 * executed, so a readable answer is worth more than a refusal. What comes out is bounded like what goes in.
 * Refusals: UPSTREAM_ANSWER_TOO_LARGE, UPSTREAM_ANSWER_INVALID (damaged, or a coding that is not known).
 */
export function decodeBody(bytes: Buffer, coding: string, bytesMax: number): Promise<Result<Buffer>> {
  const decode = decoders.get(coding);
  if (decode === undefined) return Promise.resolve(refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-encoding" }));
  return new Promise((resolve) => {
    decode(bytes, { maxOutputLength: bytesMax }, (fault, decoded) => {
      if (fault === null) resolve(ok(decoded));
      else if (isTooLarge(fault)) resolve(refuse("UPSTREAM_ANSWER_TOO_LARGE", { bytesMax, coding }));
      else resolve(refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-encoding" }));
    });
  });
}

type Decoder = (
  bytes: Buffer,
  options: { readonly maxOutputLength: number },
  done: (fault: Error | null, decoded: Buffer) => void,
) => void;

const decoders: ReadonlyMap<string, Decoder> = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", brotliDecompress],
]);

function isTooLarge(fault: Error): boolean {
  return "code" in fault && fault.code === "ERR_BUFFER_TOO_LARGE";
}
