import type { Config } from "../config/types.ts";
import { spelledSubject } from "../model/spelled-subject.ts";

/**
 * A subject as the tokens of its issuer spell it: where people are named by e-mail address, an operator may write the
 * address as it stands in a directory. `issuer` is the identifier, not the alias.
 */
export function spelledName(subject: string, issuer: string, config: Pick<Config, "auth" | "publicUrl">): string {
  const { auth, publicUrl } = config;
  if (auth.kind === "none") return subject;
  if (issuer === publicUrl && auth.builtIn !== undefined) return spelledHere(subject, auth.builtIn);
  const external = auth.issuers.find((one) => one.issuer === issuer);
  return spelledSubject(external?.subjectClaim ?? "", subject);
}

/** At the built-in server: services by the ids of their clients, others by the rule of whoever names them. */
function spelledHere(
  subject: string,
  { clients, provider, assertionIssuers }: NonNullable<Exclude<Config["auth"], { kind: "none" }>["builtIn"]>,
): string {
  if (clients.some(({ clientId }) => clientId === subject)) return subject;
  const elsewhere = assertionIssuers.find(
    ({ alias, issuer }) => issuer !== provider?.issuer && subject.startsWith(`${alias}:`),
  );
  if (elsewhere === undefined) return spelledSubject(provider?.subjectFrom ?? "", subject);
  const prefix = `${elsewhere.alias}:`;
  return prefix + spelledSubject(elsewhere.subjectFrom, subject.slice(prefix.length));
}
