import { anonymousPrincipal } from "./auth/anonymous.ts";
import { toolCosts, tokensIn } from "./catalog/context-cost.ts";
import { fetchUpstream, type UpstreamCatalog } from "./catalog/fetch-upstream.ts";
import { lockedSource } from "./catalog/lock/locked-source.ts";
import type { Lock } from "./catalog/lock/lock.ts";
import { presentationFor } from "./catalog/presentation.ts";
import { shapeEntry } from "./catalog/shaped-entry.ts";
import type { ServerShape } from "./catalog/shape.ts";
import { buildTable, type Entry } from "./catalog/table.ts";
import { createViews, type View } from "./catalog/views.ts";
import type { CostsAsked, MeasureCosts, ServerCost } from "./cli/budget.ts";
import type { LoadedFile } from "./cli/load-file.ts";
import { principalNames } from "./cli/policy-bundle.ts";
import { cleanInstructions } from "./compose-catalog-source.ts";
import { openUpstreamReader, type UpstreamReader } from "./compose-live-catalogs.ts";
import { serverShapes } from "./compose-shapes.ts";
import type { Config } from "./config/types.ts";
import { instructionsShown } from "./gateway/steps/describe-server.ts";
import { limits } from "./model/limits.ts";
import type { Principal } from "./model/principal.ts";
import type { Policy } from "./policy/compile.ts";
import { listing } from "./policy/decide.ts";
import type { PolicyFault } from "./policy/language.ts";
import { shapingOf } from "./policy/obligations.ts";
import { readPrincipal } from "./policy/read-principal.ts";
import { cleanDefinition } from "./sanitize/clean-definition.ts";

/**
 * What servers take of a model's context, as principals would see them now. Definitions are those of the catalog lock
 * and, where it has none of an upstream and they are asked for, those that the upstream lists now.
 */
export const measureCosts: MeasureCosts = async (read, asked) => {
  const { config } = read.loaded;
  const wanted = Object.keys(config.servers).filter((name) => asked.all || config.servers[name]?.budget !== undefined);
  const onlookers = new Map(wanted.map((name) => [name, onlookersOf(read, name)]));
  const faults = [...onlookers.values()].flatMap((found) => found.flatMap((one) => one.faults));
  if (faults.length > 0) return { faults };
  const shapes = serverShapes(config).filter(({ name }) => wanted.includes(name));
  const known = await definitionsOf(read, shapes, asked);
  return {
    costs: shapes.flatMap((shape) =>
      (onlookers.get(shape.name) ?? []).map(({ as, principal }) => costOf({ read, shape, known, as, principal })),
    ),
  };
};

/** Somebody who looks at a server. */
interface Onlooker {
  readonly as: string | undefined;
  readonly principal: Principal | undefined;
  readonly faults: readonly string[];
}

function onlookersOf({ loaded: { config }, policy }: LoadedFile, server: string): readonly Onlooker[] {
  const described = config.servers[server]?.budget?.as ?? [];
  if (described.length === 0) return [{ as: undefined, principal: undefined, faults: [] }];
  const names = principalNames(config, policy);
  return described.map((value, at) => {
    const faults: PolicyFault[] = [];
    const file = `servers.${server}.budget.as[${at}]`;
    const principal = readPrincipal({ notes: { file, faults, warnings: [] }, pointer: "" }, value, names);
    return { as: JSON.stringify(value), principal, faults: faults.map(faultText) };
  });
}

function faultText({ path, found, message }: PolicyFault): string {
  return `${path}: found ${found}: ${message}`;
}

type Known = ReadonlyMap<string, UpstreamCatalog | { readonly because: string }>;

async function definitionsOf(read: LoadedFile, shapes: readonly ServerShape[], { live }: CostsAsked): Promise<Known> {
  const { config } = read.loaded;
  const upstreams = [...new Set(shapes.flatMap((shape) => shape.upstreams.map(({ upstream }) => upstream)))];
  const reader = live ? await openUpstreamReader(config) : undefined;
  try {
    const found = await Promise.all(
      upstreams.map(async (name) => [name, await definitionsAt(name, { config, lock: read.lock, reader })] as const),
    );
    return new Map(found);
  } finally {
    await reader?.close();
  }
}

async function definitionsAt(
  name: string,
  of: { config: Config; lock: Lock | undefined; reader: UpstreamReader | undefined },
): Promise<UpstreamCatalog | { readonly because: string }> {
  const { config, lock, reader } = of;
  if (lock?.document.upstreams.has(name) === true) return lockedDefinitions(name, config, lock);
  if (reader === undefined) return { because: "as the catalog lock does not have it: --live reads it" };
  if (config.upstreams[name]?.catalogFrom === "user") return { because: "as it lists to each person what is theirs" };
  const answer = await reader.read(name);
  return answer.ok ? answer.value : { because: `as it could not be read (${answer.refusal.code})` };
}

async function lockedDefinitions(
  name: string,
  { limits: bounds }: Config,
  lock: Lock,
): Promise<UpstreamCatalog | { readonly because: string }> {
  const source = lockedSource({ lock: () => lock, eraOf: () => "modern", cleanInstructions });
  const signal = AbortSignal.timeout(bounds.upstreamListTimeoutMs);
  const answer = await fetchUpstream(name, { source, clean: cleanDefinition, bounds }, signal);
  return answer.ok ? answer.value : { because: `as the catalog lock cannot be read (${answer.refusal.code})` };
}

interface Measured extends Pick<Onlooker, "as" | "principal"> {
  readonly read: LoadedFile;
  readonly shape: ServerShape;
  readonly known: Known;
}

function costOf(of: Measured): ServerCost {
  const { read, shape, known, as } = of;
  const server = read.loaded.config.servers[shape.name];
  const view = viewOf(of);
  const instructions = instructionsShown(view, { instructions: server?.instructions });
  return {
    server: shape.name,
    as,
    presentation: view.table.presentation?.id,
    tools: toolCosts(view.visibleBy.tool),
    instructionTokens: instructions === undefined ? 0 : tokensIn(instructions),
    budgetTokens: server?.budget?.tokens,
    unknown: shape.upstreams.flatMap(({ upstream }) => {
      const found = known.get(upstream);
      return found !== undefined && "because" in found ? [{ upstream, because: found.because }] : [];
    }),
  };
}

/** What the gateway would show, by the same table, policy and view. */
function viewOf({ read, shape, known, principal }: Measured): View {
  const { policy } = read;
  const presentation = principal === undefined ? undefined : presentationFor(shape.presentations, principal);
  const snapshots = shape.upstreams.flatMap(({ upstream }) => {
    const found = known.get(upstream);
    return found === undefined || "because" in found ? [] : [{ ...found, upstream }];
  });
  const table = buildTable(
    { server: shape, presentation, forSomebody: false },
    { snapshots, missing: [], unconnected: [] },
  );
  const views = createViews({ ...limits, now: Date.now });
  // Of all that there is no policy is asked, so whose view it is does not matter.
  if (principal === undefined)
    return views.of({ table, principal: anonymousPrincipal, policy: "", revision: "", visible: () => true });
  const seen = seenBy(policy, principal, shape.name);
  return views.of({ table, principal, policy: policy.digest, revision: "", ...seen });
}

function seenBy(
  policy: Policy,
  principal: Principal,
  server: string,
): { visible: (entry: Entry) => boolean; present: (entry: Entry) => Entry } {
  const request = { now: Date.now(), transport: "http", era: "modern", revision: "" } as const;
  return {
    visible: ({ item }) => listing(policy, { principal, server, item, request }) === "listed",
    present: (entry) => shapeEntry(entry, shapingOf(policy, { principal, server, item: entry.item })),
  };
}
