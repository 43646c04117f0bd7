import { limits } from "../../model/limits.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { mediaTypeOf } from "../../protocol/media-type.ts";
import type { FileRoute } from "./file-routes.ts";

/** The head of an upstream's answer: lower-case names; a header that came more than once is a list. */
export interface FileAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What was asked, as far as it decides which answers are answers to it. */
export interface FileQuestion {
  readonly isRange: boolean;
  readonly isConditional: boolean;
}

/** What the client receives: nothing of the upstream's head but this. */
export interface FileHead {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Judges the head of an upstream's answer before anything of it is delivered. Headers are made anew from those few
 * that describe the file; cookies, redirects and challenges end here (design, decisions 6 and 8).
 *
 * Refusals: UPSTREAM_AUTH_FAILED, UPSTREAM_STATUS_UNEXPECTED, UPSTREAM_ANSWER_INVALID, UPSTREAM_ANSWER_TOO_LARGE,
 * FILE_TYPE_REFUSED. Not checked: whether the bytes are what the type says, and how many come (`bytesMax` is counted
 * while they do).
 */
export function judgeFileAnswer(answer: FileAnswer, question: FileQuestion, route: FileRoute): Result<FileHead> {
  const { status } = answer;
  if (status === 200) return whole(answer, route);
  if (status === 206 && question.isRange) return part(answer, route);
  if (status === 304 && question.isConditional) return ok({ status, headers: validatorsOf(answer) });
  if (status === 416 && question.isRange) return ok({ status, headers: lengthAlone(answer) });
  if (status === 401 || status === 403 || status === 407) return refuse("UPSTREAM_AUTH_FAILED", { status });
  return refuse("UPSTREAM_STATUS_UNEXPECTED", { status });
}

function whole(answer: FileAnswer, route: FileRoute): Result<FileHead> {
  const described = describe(answer, route);
  return described.ok ? ok({ status: 200, headers: described.value }) : described;
}

/** A range does not lead around the bound: the whole file must be within it, so its length must be known. */
function part(answer: FileAnswer, route: FileRoute): Result<FileHead> {
  const range = single(answer, "content-range") ?? "";
  const [, first, last, length] = (/^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(range) ?? []).map(Number);
  if (first === undefined || last === undefined || length === undefined || first > last || last >= length)
    return refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-range" });
  if (length > route.bytesMax) return tooLarge(length, route);
  const described = describe(answer, route);
  if (!described.ok) return described;
  const declared = described.value["content-length"];
  if (declared !== undefined && Number(declared) !== last - first + 1)
    return refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-length" });
  return ok({ status: 206, headers: { ...described.value, "content-range": range } });
}

function describe(answer: FileAnswer, route: FileRoute): Result<Record<string, string>> {
  // Asked for `identity`: what comes coded could be of any size once it is decoded.
  const coding = answer.headers["content-encoding"];
  if (coding !== undefined && coding !== "identity")
    return refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-encoding" });
  const type = typeOf(answer, route);
  if (!type.ok) return type;
  const length = lengthOf(answer, route);
  if (!length.ok) return length;
  const takesRanges = single(answer, "accept-ranges") === "bytes";
  return ok({
    ...validatorsOf(answer),
    "content-type": type.value,
    ...(length.value === undefined ? {} : { "content-length": length.value }),
    ...(takesRanges ? { "accept-ranges": "bytes" } : {}),
  });
}

/** The type's essence, and its charset: other parameters say nothing to somebody who saves a file. */
function typeOf(answer: FileAnswer, route: FileRoute): Result<string> {
  const written = single(answer, "content-type") ?? "";
  const type = mediaTypeOf(written);
  // A media type has no characters but those of a token; only its length is the upstream's to choose.
  if (type === undefined || !route.types.has(type))
    return refuse("FILE_TYPE_REFUSED", { type: (type ?? "none").slice(0, 100) });
  const charset = /;[ \t]*charset="?([A-Za-z0-9_.:-]{1,40})"?[ \t]*(?:;|$)/i.exec(written)?.[1];
  return ok(charset === undefined ? type : `${type}; charset=${charset}`);
}

function lengthOf(answer: FileAnswer, route: FileRoute): Result<string | undefined> {
  const length = answer.headers["content-length"];
  if (length === undefined) return ok(undefined);
  if (typeof length !== "string" || !/^\d{1,15}$/.test(length))
    return refuse("UPSTREAM_ANSWER_INVALID", { reason: "content-length" });
  return Number(length) > route.bytesMax ? tooLarge(Number(length), route) : ok(length);
}

/** `ETag` and `Last-Modified` (RFC 9110 §8.8), where they have their form; anything else is left out. */
function validatorsOf(answer: FileAnswer): Record<string, string> {
  const tag = single(answer, "etag");
  const modified = single(answer, "last-modified");
  const isTag =
    tag !== undefined && tag.length <= limits.fileValidatorCharsMax && /^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(tag);
  const isDate =
    modified !== undefined && /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(modified);
  return { ...(isTag ? { etag: tag } : {}), ...(isDate ? { "last-modified": modified } : {}) };
}

function lengthAlone(answer: FileAnswer): Record<string, string> {
  const range = single(answer, "content-range") ?? "";
  return /^bytes \*\/\d{1,15}$/.test(range) ? { "content-range": range } : {};
}

/** A header that must occur once. Twice is no value at all, rather than one of the two. */
function single({ headers }: FileAnswer, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

function tooLarge(bytes: number, { bytesMax }: FileRoute): Result<never> {
  return refuse("UPSTREAM_ANSWER_TOO_LARGE", { bytes, bytesMax });
}
