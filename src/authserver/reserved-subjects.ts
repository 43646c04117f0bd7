import type { AuthServerOptions } from "./options.ts";

/**
 * Whether a subject would read as somebody else's: those of services are the ids of their clients, and those of people
 * of assertion issuers begin with the issuer's alias. A provider whose own names are taken as they are can give nobody such a name.
 */
export function reservedSubjects({
  clients,
  assertionIssuers = [],
}: Pick<AuthServerOptions, "clients" | "assertionIssuers">): (subject: string) => boolean {
  const services = new Set(clients.map(({ clientId }) => clientId));
  const prefixes = assertionIssuers.map(({ alias }) => `${alias}:`);
  return (subject) => services.has(subject) || prefixes.some((prefix) => subject.startsWith(prefix));
}
