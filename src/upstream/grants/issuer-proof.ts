import { ok, type Result } from "../../model/result.ts";
import { unusable } from "./faults.ts";
import type { Target } from "./targets.ts";

/**
 * Whether anything may be begun at this authorization server. For one that an operator named, the operator vouches. Of one
 * that the upstream alone names, answers must be told from those of others (RFC 9700 §4.4): it has to say that they name
 * it (RFC 9207 §3), or it could send the browser on to an honest server, and would be handed the code that the honest one
 * gives. And no other upstream may use it: where the server does not heed the resource that a token is asked for
 * (RFC 8707), an upstream that names the server of another would be handed tokens that are good at the other.
 *
 * Refuses with UPSTREAM_AUTHORIZATION_UNUSABLE `issuer-unproven` and `issuer-shared`. Grants that are there are renewed
 * and revoked at the server that gave them without it.
 */
export function mayBeginAt(target: Target): Result<Target> {
  const { upstream, server, options, sharedWith } = target;
  if (options.issuer !== undefined) return ok(target);
  const { issuer } = server;
  if (!saysThatItDoes(target)) return unusable(upstream, "issuer-unproven", { issuer });
  return sharedWith === undefined ? ok(target) : unusable(upstream, "issuer-shared", { issuer, other: sharedWith });
}

/** Whether an answer without `iss` is none of this server's. What the server says of itself by now cannot soften it. */
export function mustNameItself(target: Target): boolean {
  return target.options.issuer === undefined || saysThatItDoes(target);
}

function saysThatItDoes({ server }: Target): boolean {
  return server.authorization_response_iss_parameter_supported === true;
}
