import { randomBytes } from "node:crypto";
import { createRef } from "../audit/ref.ts";
import { headlessIssuer } from "../auth/verify-headless.ts";
import type { Config } from "../config/types.ts";
import { isSubject, type Subject } from "../model/principal.ts";
import type { Result } from "../model/result.ts";
import type { Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { subjectAt } from "./subject-at.ts";
import { counted, no, withStore } from "./with-store.ts";

/** What `sallyport grant` is asked to do, about the grants of one person or service. */
export interface GrantOrder {
  readonly config: string;
  readonly subject: string;
  /** An alias of the configuration, or the issuer's identifier. */
  readonly issuer: string;
  /** Needed where the issuer's tokens name the tenant. */
  readonly tenant: string | undefined;
  readonly wanted: GrantWish;
}

export type GrantWish =
  | { readonly does: "list" }
  | { readonly does: "revoke"; readonly upstream: string }
  /** Opens the grant of a service to further clients of it. */
  | { readonly does: "admit"; readonly upstream: string; readonly clients: readonly string[] }
  | {
      readonly does: "assign";
      readonly upstream: string;
      readonly clients: readonly string[];
      /** Whose grant it is until then. */
      readonly from: { readonly subject: string; readonly issuer: string };
    };

/** A grant as it is told of: nothing of its tokens. */
export interface ListedGrant {
  readonly upstream: string;
  /** The authorization server that gave it. */
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly clients: readonly string[];
  /** False once it is lost: its person has to connect again. */
  readonly isUsable: boolean;
  /** Why to connect again. */
  readonly reason: string | undefined;
}

/** What the shared store, the replicas and the authorization servers of upstreams are told. */
export interface GrantDesk {
  /** Every grant of somebody that is remembered, of former authorization servers as well. Asks nobody. */
  list(who: Subject): Promise<readonly ListedGrant[]>;
  /** Moves a grant, and opens it to one client. */
  assign(
    from: Subject,
    to: Subject,
    of: { readonly upstream: string; readonly clientId: string },
  ): Promise<Result<void>>;
  admit(who: Subject, clientId: string, upstream: string): Promise<Result<void>>;
  /** Ends what there is of the upstream; true when it was revoked at its authorization server too. */
  revoke(who: Subject, upstream: string): Promise<boolean>;
  /** Has every running replica leave events of all that was done, under the reference, and look at it anew. */
  tell(ref: string): Promise<void>;
  close(): Promise<void>;
}

export type OpenGrantDesk = (config: Config) => Promise<GrantDesk>;

const newRef = createRef(randomBytes);

/**
 * `sallyport grant list`, `assign`, `admit` and `revoke`: for operators, who see nothing of a grant's tokens. Grants are
 * given by people on the connect pages; the only one who may have somebody else's is a service.
 */
export function grant(order: GrantOrder, env: Environment, output: Output, open: OpenGrantDesk): Promise<ExitCode> {
  const command = {
    named: (config: Config) => namedBy(order, config),
    work: (named: Named, desk: GrantDesk) => carryOut(order.wanted, named, { desk, output }),
  };
  return withStore(order.config, { env, output, open }, command);
}

interface Named {
  readonly who: Subject;
  /** Whose grant is to be assigned; `who` itself where none is. */
  readonly from: Subject;
}

interface Means {
  readonly desk: GrantDesk;
  readonly output: Output;
}

function namedBy(order: GrantOrder, config: Config): Named | string {
  const { wanted, tenant } = order;
  const who = subjectAt(order, config);
  if (typeof who === "string") return who;
  const from = wanted.does === "assign" ? subjectAt({ ...wanted.from, tenant }, config) : who;
  if (typeof from === "string") return from;
  return faultOf(order, { who, from }, config) ?? { who, from };
}

function faultOf({ wanted }: GrantOrder, { who, from }: Named, config: Config): string | undefined {
  const connected = upstreamsOf(config);
  if (connected.length === 0) return "no upstream has a credential of type user, so there are no grants";
  if (wanted.does === "list") return undefined;
  if (!connected.includes(wanted.upstream))
    return `${wanted.upstream} is none of the upstreams that people connect: ${connected.join(", ")}`;
  if (wanted.does === "revoke") return undefined;
  const clientsMax = config.limits.grantClientsMax;
  if (wanted.clients.length === 0 || wanted.clients.length > clientsMax)
    return `--client is given once to ${clientsMax} times`;
  if (who.tenant !== from.tenant)
    return `${from.subject} is of tenant ${from.tenant}, and ${who.subject} of ${who.tenant}`;
  if (wanted.does === "assign" && isSubject(who, from)) return `the grant of ${who.subject} is theirs already`;
  return isPerson(who, config)
    ? `${who.subject} is no service: people connect, and agree to clients, on the connect pages`
    : undefined;
}

function upstreamsOf({ upstreams }: Config): readonly string[] {
  return Object.entries(upstreams).flatMap(([name, { credential }]) => (credential.type === "user" ? [name] : []));
}

/** Of an external issuer only its tokens tell; then the operator is taken at their word. */
function isPerson({ issuer, subject }: Subject, { auth, publicUrl }: Config): boolean {
  if (issuer === headlessIssuer || issuer !== publicUrl || auth.kind === "none") return false;
  const clients = auth.builtIn?.clients ?? [];
  return !clients.some(({ clientId, grants }) => clientId === subject && grants.includes("clientCredentials"));
}

async function carryOut(wanted: GrantWish, named: Named, means: Means): Promise<ExitCode> {
  switch (wanted.does) {
    case "list":
      for (const one of await means.desk.list(named.who)) means.output.out(shown(lineOf(named.who, one)));
      return 0;
    case "revoke":
      return revoke(wanted.upstream, named.who, means);
    case "admit":
      return admit(wanted, named.who, means);
    case "assign":
      return assign(wanted, named, means);
  }
}

async function revoke(upstream: string, who: Subject, { desk, output }: Means): Promise<ExitCode> {
  if ((await grantsAt(desk, who, upstream)).length === 0)
    return no(`${who.subject} has no grant at ${upstream}`, output);
  const revokedThere = await desk.revoke(who, upstream);
  const ref = newRef();
  await desk.tell(ref);
  const there = revokedThere
    ? "and revoked there too"
    : "but not there: the authorization server keeps it until it expires";
  output.err(shown(`The grant of ${who.subject} at ${upstream} is ended here, ${there} (${ref}).`));
  return 0;
}

async function admit(
  { upstream, clients }: Extract<GrantWish, { does: "admit" }>,
  who: Subject,
  { desk, output }: Means,
): Promise<ExitCode> {
  for (const clientId of clients) {
    const admitted = await desk.admit(who, clientId, upstream);
    if (!admitted.ok) return no(becauseOf(admitted.refusal, who, upstream), output);
  }
  const ref = newRef();
  await desk.tell(ref);
  output.err(shown(`The grant of ${who.subject} at ${upstream} is open to ${clients.join(", ")} (${ref}).`));
  return 0;
}

async function assign(
  { upstream, clients }: Extract<GrantWish, { does: "assign" }>,
  { who, from }: Named,
  { desk, output }: Means,
): Promise<ExitCode> {
  const fault = await unassignable({ who, from }, upstream, desk);
  if (fault !== undefined) return no(fault, output);
  const [first = "", ...others] = clients;
  const moved = await desk.assign(from, who, { upstream, clientId: first });
  if (!moved.ok) return no(becauseOf(moved.refusal, from, upstream), output);
  for (const clientId of others) await desk.admit(who, clientId, upstream);
  const ref = newRef();
  await desk.tell(ref);
  const held = `for ${counted(clients.length, "client")}; ${from.subject} has to connect again to use it`;
  output.err(shown(`The grant of ${from.subject} at ${upstream} is that of ${who.subject} now, ${held} (${ref}).`));
  return 0;
}

/** Looked at first, since assigning takes whatever there is, and puts it over whatever there is. */
async function unassignable({ who, from }: Named, upstream: string, desk: GrantDesk): Promise<string | undefined> {
  const theirs = await grantsAt(desk, from, upstream);
  if (theirs.length === 0) return `${from.subject} has no grant at ${upstream}`;
  if (!theirs.some(({ isUsable }) => isUsable))
    return `the grant of ${from.subject} at ${upstream} is lost: they have to connect again first`;
  const present = await grantsAt(desk, who, upstream);
  return present.length === 0 ? undefined : `${who.subject} has a grant at ${upstream} already: revoke it first`;
}

async function grantsAt(desk: GrantDesk, who: Subject, upstream: string): Promise<readonly ListedGrant[]> {
  return (await desk.list(who)).filter((one) => one.upstream === upstream);
}

function becauseOf(
  { code, facts }: Extract<Result<never>, { ok: false }>["refusal"],
  who: Subject,
  upstream: string,
): string {
  return `the grant of ${who.subject} at ${upstream} cannot be used: ${code} (${String(facts["reason"] ?? "no reason")})`;
}

function lineOf({ subject, issuer }: Subject, grant: ListedGrant): string {
  const { upstream, scopes, clients, isUsable, reason } = grant;
  const parts = [
    `${subject} of ${issuer}`,
    upstream,
    `from ${grant.issuer}`,
    `scopes: ${scopes.join(" ") || "not stated"}`,
    `since ${new Date(grant.since).toISOString()}`,
    `clients: ${clients.join(" ") || "none"}`,
    ...(isUsable ? [] : ["lost"]),
    ...(reason === undefined ? [] : [`to be connected again: ${reason}`]),
  ];
  return parts.join("  ");
}
