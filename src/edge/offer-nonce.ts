import type { IncomingMessage, ServerResponse } from "node:http";
import { namesDpop } from "../auth/authorization-header.ts";
import type { Gateway } from "../gateway/gateway.ts";

/**
 * Whatever becomes of a request with a DPoP proof, its answer brings the nonce for the next one (RFC 9449 §9), so that a
 * client that keeps asking is never sent back for one.
 */
export function offerNonce(
  req: IncomingMessage,
  res: ServerResponse,
  { proofNonce }: Pick<Gateway, "proofNonce">,
): void {
  const { authorization } = req.headers;
  if (proofNonce === undefined || authorization === undefined || !namesDpop([authorization])) return;
  res.setHeader("DPoP-Nonce", proofNonce());
}
