import { ok, type Result } from "../../model/result.ts";
import { unusable } from "./faults.ts";
import type { Target } from "./targets.ts";

/**
 * Whether answers can be told from those of another authorization server (RFC 9700 §4.4). A server that the upstream
 * alone names must say that its answers name it (RFC 9207 §3): otherwise it could send the browser on to an honest
 * server, and would be handed the code that the honest one gives. An operator who names the server vouches for it.
 *
 * Refuses with UPSTREAM_AUTHORIZATION_UNUSABLE `issuer-unproven`. Asked before anything is begun; grants that are there
 * are renewed and revoked at the server that gave them without it.
 */
export function withProvenIssuer(target: Target): Result<Target> {
  const { upstream, server, options } = target;
  if (options.issuer !== undefined || saysThatItDoes(target)) return ok(target);
  return unusable(upstream, "issuer-unproven", { issuer: server.issuer });
}

/** Whether an answer without `iss` is none of this server's. What the server says of itself by now cannot soften it. */
export function mustNameItself(target: Target): boolean {
  return target.options.issuer === undefined || saysThatItDoes(target);
}

function saysThatItDoes({ server }: Target): boolean {
  return server.authorization_response_iss_parameter_supported === true;
}
