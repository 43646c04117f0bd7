import { headlessIssuer } from "../auth/verify-headless.ts";
import type { Config } from "../config/types.ts";
import type { Subject } from "../model/principal.ts";
import { spelledName } from "./spelled-name.ts";

/** Under which somebody may be let in besides the name that a command was given. */
export interface OtherIdentity {
  /** Of its issuer. */
  readonly alias: string;
  /** Of the same name there, which is looked up; they may have another. Undefined where tokens name the tenant. */
  readonly who: Subject | undefined;
}

/**
 * People who come with tokens of an external issuer, and sign in at the built-in server as well, are two to the gateway:
 * no token says that they are one. People are looked for on either side from the other; a service has no other side.
 */
export function otherIdentities(who: Subject, config: Config): readonly OtherIdentity[] {
  const { auth, publicUrl } = config;
  if (auth.kind === "none" || auth.builtIn === undefined || who.issuer === headlessIssuer) return [];
  const { builtIn, issuers } = auth;
  if (builtIn.clients.some(({ clientId }) => who.issuer === publicUrl && clientId === who.subject)) return [];
  const { subject } = who;
  if (who.issuer === publicUrl) {
    return issuers.map(({ alias, issuer, tenant, tenantClaim }) => ({
      alias,
      who: tenantClaim === undefined ? { tenant, issuer, subject: spelledName(subject, issuer, config) } : undefined,
    }));
  }
  // Those whom an assertion brings have the alias of its issuer before their name, unless it is the provider's.
  const names = builtIn.assertionIssuers
    .filter(({ issuer }) => issuer === who.issuer && issuer !== builtIn.provider?.issuer)
    .map(({ alias }) => `${alias}:${subject}`);
  return [subject, ...names].map((name) => ({
    alias: builtIn.alias,
    who: { tenant: "default", issuer: publicUrl, subject: spelledName(name, publicUrl, config) },
  }));
}
