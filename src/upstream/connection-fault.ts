import { errors } from "undici";
import { refuse } from "../model/refusal.ts";
import type { Refusal } from "../model/refusal.ts";
import { EgressRefused } from "./guarded-connect.ts";

/**
 * Names the failure of a connection. `sent` says whether the request may have been written: before, the
 * upstream could not be reached; afterwards, it went away or broke HTTP.
 *
 * Refusals: UPSTREAM_ADDRESS_FORBIDDEN, UPSTREAM_UNREACHABLE, UPSTREAM_CLOSED_EARLY, UPSTREAM_ANSWER_INVALID,
 * UPSTREAM_ANSWER_TOO_LARGE (headers).
 */
export function connectionFault(error: unknown, sent: boolean): Refusal {
  if (error instanceof EgressRefused) {
    const { host, address, kind } = error;
    return refuse("UPSTREAM_ADDRESS_FORBIDDEN", { host, address, kind }, { cause: error }).refusal;
  }
  const systemCode = faultCode(error);
  if (!sent) return refuse("UPSTREAM_UNREACHABLE", { systemCode }, { cause: error }).refusal;
  if (systemCode === "UND_ERR_HEADERS_OVERFLOW")
    return refuse("UPSTREAM_ANSWER_TOO_LARGE", { systemCode }, { cause: error }).refusal;
  const brokeHttp = error instanceof errors.HTTPParserError;
  return refuse(brokeHttp ? "UPSTREAM_ANSWER_INVALID" : "UPSTREAM_CLOSED_EARLY", { systemCode }, { cause: error })
    .refusal;
}

/** `ECONNREFUSED`, `UND_ERR_SOCKET`, `CERT_HAS_EXPIRED` and the like: from libraries, never from the peer's text. */
export function faultCode(error: unknown): string {
  if (error instanceof AggregateError) return faultCode(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown";
}
