import { randomBytes } from "node:crypto";
import { createRef } from "../audit/ref.ts";
import { createHeadlessTokens, type HeadlessTokens, type ListedToken } from "../auth/headless-tokens.ts";
import type { HeadlessRecords } from "../auth/port.ts";
import type { Config } from "../config/types.ts";
import type { TokenChange } from "../gateway/crossing-token.ts";
import type { ItemIdentity, ItemKind } from "../model/item.ts";
import { StoreUnavailable } from "../model/records.ts";
import { reportFaults } from "./check.ts";
import { loadFile, type Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { no } from "./with-store.ts";

/** What `sallyport token` is asked to do. */
export type TokenOrder =
  | { readonly does: "create"; readonly wanted: TokenWish }
  | { readonly does: "list" }
  | { readonly does: "revoke"; readonly id: string };

export interface TokenWish {
  readonly service: string;
  readonly server: string;
  /** As `tool:crm/get_customer`. */
  readonly items: readonly string[];
  readonly scopes: readonly string[];
  readonly days: number;
}

/** Opens the store that a configuration names; closed once the command is done. */
export type OpenRecords = (config: Config) => Promise<{
  readonly records: HeadlessRecords;
  /** Has every running replica leave an event. Rejects with `StoreUnavailable`. */
  readonly tell: (change: TokenChange) => Promise<void>;
  readonly close: () => Promise<void>;
}>;

const newRef = createRef(randomBytes);

const dayMs = 86_400_000;

/**
 * `sallyport token create`, `list` and `revoke`. A new token is the only line on standard output, and shown this
 * once; everything about it goes to standard error.
 */
export async function token(
  { config: file, order }: { readonly config: string; readonly order: TokenOrder },
  env: Environment,
  output: Output,
  open: OpenRecords,
): Promise<ExitCode> {
  const read = loadFile(file, env);
  if (!read.ok) {
    reportFaults(file, read.faults, output);
    return 1;
  }
  const { config } = read.loaded;
  if (config.auth.kind === "none" || config.auth.headless === undefined)
    return no("auth.headless is not configured", output);
  const { records, tell, close } = await open(config);
  const { tenant } = config.auth.headless;
  const tokens = createHeadlessTokens({ records, tenant, now: Date.now, randomBytes, limits: config.limits });
  try {
    return await carryOut(order, { tokens, tenant, tell, config, output });
  } catch (error) {
    if (error instanceof StoreUnavailable) return no("the store does not answer", output);
    throw error;
  } finally {
    await close();
  }
}

interface Means {
  readonly tokens: HeadlessTokens;
  readonly tenant: string;
  readonly tell: (change: TokenChange) => Promise<void>;
  readonly config: Config;
  readonly output: Output;
}

async function carryOut(order: TokenOrder, means: Means): Promise<ExitCode> {
  switch (order.does) {
    case "create":
      return create(order.wanted, means);
    case "list":
      for (const one of await means.tokens.list()) means.output.out(shown(lineOf(one)));
      return 0;
    case "revoke":
      return revoke(order.id, means);
  }
}

async function revoke(id: string, { tokens, tenant, tell, output }: Means): Promise<ExitCode> {
  const service = (await tokens.list()).find((one) => one.id === id)?.subject ?? "";
  if (!(await tokens.revoke(id))) return no(`no token has the id ${id}`, output);
  const ref = newRef();
  await tell({ did: "revoked", tenant, id, service, ref });
  output.err(shown(`Revoked ${id}; running replicas leave events with the reference ${ref}.`));
  return 0;
}

async function create(wish: TokenWish, { tokens, tenant, tell, config, output }: Means): Promise<ExitCode> {
  const fault = faultOf(wish, config);
  if (fault !== undefined) return no(fault, output);
  const made = await tokens.create({
    subject: wish.service,
    resource: `${config.publicUrl}/${wish.server}/mcp`,
    items: wish.items.map(readItem).filter((item) => item !== undefined),
    scopes: wish.scopes,
    lifeMs: wish.days * dayMs,
  });
  const ref = newRef();
  // Before the token is shown: one that left no evidence is of use to nobody.
  await tell({ did: "created", tenant, id: made.id, service: wish.service, ref });
  output.err(
    shown(`Token ${made.id} of service ${wish.service}, until ${new Date(made.expiresAt).toISOString()} (${ref}).`),
  );
  output.err("It is shown this once and kept nowhere:");
  output.out(made.token);
  return 0;
}

/** The first thing that is wrong, since a token for what does not exist would only be found out by its refusals. */
function faultOf({ service, server, items, scopes, days }: TokenWish, { servers, limits }: Config): string | undefined {
  if (!/^[\w.:@-]{1,128}$/u.test(service)) return "--service takes 1 to 128 letters, digits, and . : @ - _";
  const known = servers[server];
  if (known === undefined) return `${server} is none of the servers ${Object.keys(servers).join(", ")}`;
  const daysMax = Math.floor(limits.headlessTokenMsMax / dayMs);
  if (!Number.isInteger(days) || days < 1 || days > daysMax) return `--days takes 1 to ${daysMax}`;
  if (items.length === 0 || items.length > limits.headlessTokenItemsMax)
    return `--item is given once to ${limits.headlessTokenItemsMax} times`;
  const odd = items.find((item) => known.upstreams[readItem(item)?.upstream ?? ""] === undefined);
  if (odd !== undefined)
    return `${odd} is no KIND:UPSTREAM/NAME with an upstream of ${server}, as tool:crm/get_customer`;
  const unknown = scopes.find((scope) => !known.scopes.supported.includes(scope));
  return unknown === undefined ? undefined : `${unknown} is none of the scopes that ${server} supports`;
}

const kinds: readonly ItemKind[] = ["tool", "prompt", "resource", "template"];

/** Names may hold colons and slashes, so each is looked for once, from the left. */
function readItem(text: string): ItemIdentity | undefined {
  const [, written = "", upstream = "", name = ""] = /^([a-z]+):([a-z0-9-]+)\/(.+)$/su.exec(text) ?? [];
  const kind = kinds.find((one) => one === written);
  return kind === undefined ? undefined : { kind, upstream, name };
}

function lineOf({ id, subject, resource, items, expiresAt }: ListedToken): string {
  const bound = items.map(({ kind, upstream, name }) => `${kind}:${upstream}/${name}`).join(" ");
  return `${id}  ${subject}  ${resource}  until ${new Date(expiresAt).toISOString()}  ${bound}`;
}
