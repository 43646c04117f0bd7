import type { IncomingMessage } from "node:http";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";

export interface BodyBounds {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

/**
 * The whole body of `req`. Refusals: `BODY_TOO_LARGE` as soon as the bound is passed, whatever
 * Content-Length said; `BODY_INCOMPLETE` when it does not arrive in time or the connection ends.
 * It does not decode a Content-Encoding.
 */
export function readBody(req: IncomingMessage, bounds: BodyBounds): Promise<Result<Buffer>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (result: Result<Buffer>): void => {
      clearTimeout(timer);
      req.off("data", take).off("end", complete).off("close", abort).off("error", abort);
      req.pause();
      resolve(result);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.byteLength;
      if (bytes > bounds.bytesMax) finish(refuse("BODY_TOO_LARGE", { bytesMax: bounds.bytesMax }));
      else chunks.push(chunk);
    };
    const complete = (): void => {
      finish(ok(Buffer.concat(chunks)));
    };
    const abort = (): void => {
      finish(refuse("BODY_INCOMPLETE", { bytes }));
    };
    const timer = setTimeout(abort, bounds.timeoutMs);
    req.on("data", take).on("end", complete).on("close", abort).on("error", abort);
  });
}

/** The parameters of a form; empty for any other media type. */
export function formOf(contentType: string | undefined, body: Buffer): URLSearchParams {
  return new URLSearchParams(isForm(contentType) ? body.toString("utf8") : "");
}

export function isForm(contentType: string | undefined): boolean {
  return mediaType(contentType) === "application/x-www-form-urlencoded";
}

export function isJson(contentType: string | undefined): boolean {
  return mediaType(contentType) === "application/json";
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
