/**
 * Whether a subject would read as somebody else's: those of services are the ids of their clients, those of people of
 * assertion issuers begin with the issuer's alias, and the gateway speaks for itself under its own address. A provider
 * whose own names are taken as they are can give nobody such a name, wherever its people sign in.
 */
export function reservedSubjects({
  publicUrl,
  clients,
  assertionIssuers = [],
}: {
  readonly publicUrl: string;
  readonly clients: readonly { readonly clientId: string }[];
  readonly assertionIssuers?: readonly { readonly alias: string }[] | undefined;
}): (subject: string) => boolean {
  const services = new Set([publicUrl, ...clients.map(({ clientId }) => clientId)]);
  const prefixes = assertionIssuers.map(({ alias }) => `${alias}:`);
  return (subject) => services.has(subject) || prefixes.some((prefix) => subject.startsWith(prefix));
}
