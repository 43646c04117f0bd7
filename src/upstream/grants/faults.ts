import { refuse } from "../../model/refusal.ts";
import { ok, type Refused, type Result } from "../../model/result.ts";
import { connectionFault, faultCode } from "../connection-fault.ts";
import { EgressRefused } from "../guarded-connect.ts";

/** Why a person has to connect an upstream, once more or at all. */
export type ConnectReason =
  | "no-person"
  | "not-connected"
  | "not-consented"
  | "expired"
  | "withdrawn"
  | "rotation-lost"
  | "registration-lost"
  | "token-refused"
  | "scope-insufficient";

export function connectionRequired(upstream: string, reason: ConnectReason): Refused {
  return refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason });
}

/** What an upstream or its authorization server says of itself cannot be used. `fault` is of our own words. */
export function unusable(upstream: string, fault: string, facts: Readonly<Record<string, string>> = {}): Refused {
  return refuse("UPSTREAM_AUTHORIZATION_UNUSABLE", { upstream, fault, ...facts });
}

/**
 * Carries out what may meet the network. A destination that the egress guard refuses is
 * UPSTREAM_ADDRESS_FORBIDDEN, everything else that is thrown UPSTREAM_CREDENTIAL_UNAVAILABLE.
 */
export async function overTheNetwork<T>(upstream: string, work: () => Promise<T>): Promise<Result<T>> {
  try {
    return ok(await work());
  } catch (fault) {
    return networkFault(upstream, fault);
  }
}

export function networkFault(upstream: string, fault: unknown): Refused {
  const refused = egressFault(fault);
  if (refused !== undefined) {
    const { refusal } = { refusal: connectionFault(refused, false) };
    return { ok: false, refusal: { ...refusal, facts: { upstream, ...refusal.facts } } };
  }
  return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { upstream, code: faultCode(fault) }, { cause: fault });
}

/** The guard's refusal may come inside the aggregate of several dialled addresses, or as a cause. */
function egressFault(fault: unknown): EgressRefused | undefined {
  if (fault instanceof EgressRefused) return fault;
  if (fault instanceof AggregateError) return fault.errors.map(egressFault).find((found) => found !== undefined);
  return fault instanceof Error && fault.cause !== undefined ? egressFault(fault.cause) : undefined;
}
