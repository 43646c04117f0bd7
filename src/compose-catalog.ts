import { randomBytes } from "node:crypto";
import type { Evidence } from "./audit/port.ts";
import { createRef } from "./audit/ref.ts";
import { createCatalog, createChanges, type Catalog } from "./catalog/catalog.ts";
import { fetchUpstream } from "./catalog/fetch-upstream.ts";
import { createPersonalCatalogs, type PersonalCatalogs } from "./catalog/personal.ts";
import type { DefinitionPage, DefinitionSource } from "./catalog/port.ts";
import type { ServerShape, UpstreamPart } from "./catalog/shape.ts";
import { createSnapshots, type Reading } from "./catalog/snapshots.ts";
import type { ByName, Config, ItemPatterns, ServerUpstreamConfig } from "./config/types.ts";
import type { ItemKind } from "./model/item.ts";
import { isJsonObject, readOwn, readOwnString, type JsonObject } from "./model/json.ts";
import { limits, type Limits } from "./model/limits.ts";
import { refuse } from "./model/refusal.ts";
import { ok, type Result } from "./model/result.ts";
import { compileGlob } from "./policy/glob.ts";
import { upstreamResult } from "./protocol/bridge.ts";
import { cleanDefinition } from "./sanitize/clean-definition.ts";
import { cleanResult } from "./sanitize/clean-result.ts";
import type { Log } from "./telemetry/log.ts";
import { gatewayKey, type OnAccountOf, type UpstreamAnswer, type Upstreams } from "./upstream/port.ts";

/** On which lists are read that are the same for everybody. */
export const gatewayAccount: OnAccountOf = {
  tenant: "default",
  principalKey: gatewayKey,
  clientSession: undefined,
  caller: undefined,
};

const lists: Readonly<Record<ItemKind, { method: string; key: string }>> = {
  tool: { method: "tools/list", key: "tools" },
  prompt: { method: "prompts/list", key: "prompts" },
  resource: { method: "resources/list", key: "resources" },
  template: { method: "resources/templates/list", key: "resourceTemplates" },
};

/** The catalog of the configured servers. What its readings notice becomes evidence and log. */
export function openCatalog(of: { config: Config; upstreams: Upstreams; evidence: Evidence; log: Log }): Catalog {
  const { limits, upstreams } = of.config;
  const source = definitionSource(of.upstreams, limits.upstreamListTimeoutMs, gatewayAccount);
  const changes = createChanges();
  const report = reporter(of, limits.uriCharsMax);
  const snapshots = createSnapshots({
    read: (upstream, signal) => fetchUpstream(upstream, { source, clean: cleanDefinition, bounds: limits }, signal),
    now: Date.now,
    bounds: limits,
    onReading: (reading) => {
      report(reading);
      if (reading.changed) changes.tell(reading.upstream);
    },
  });
  return createCatalog({
    servers: serverShapes(of.config),
    snapshots,
    changes,
    personal: personalCatalogs(limits, onceEach(report, limits.personalNoticesMax)),
    isPersonal: (upstream) => upstreams[upstream]?.catalogFrom === "user",
  });
}

function personalCatalogs(limits: Limits, report: (reading: Reading) => void): PersonalCatalogs {
  return createPersonalCatalogs({
    open: (source, onReading) =>
      createSnapshots({
        read: (upstream, signal) =>
          fetchUpstream(upstream, { source: source(), clean: cleanDefinition, bounds: limits }, signal),
        now: Date.now,
        bounds: limits,
        onReading: (reading) => {
          report(reading);
          onReading(reading);
        },
      }),
    now: Date.now,
    bounds: limits,
  });
}

/** Everybody's list has the same items, and that somebody has yet to connect is no news. */
function onceEach(report: (reading: Reading) => void, noticesMax: number): (reading: Reading) => void {
  const known = new Set<string>();
  const isNew = ({ upstream, kind, name, digest }: Reading["noticed"][number]): boolean => {
    const key = JSON.stringify([upstream, kind, name, digest]);
    if (known.has(key) || known.size >= noticesMax) return false;
    known.add(key);
    return true;
  };
  return (reading) => {
    const awaited = reading.refusal?.code === "UPSTREAM_CONNECTION_REQUIRED";
    report({ ...reading, refusal: awaited ? undefined : reading.refusal, noticed: reading.noticed.filter(isNew) });
  };
}

/**
 * One event per item with new findings, and a line of log that carries its reference: nobody was refused
 * anything, so nobody else could tell the operator of it. An unsafe name may be of any length, so it is cut.
 */
function reporter(of: { evidence: Evidence; log: Log }, nameCharsMax: number): (reading: Reading) => void {
  const { evidence, log } = of;
  const ref = createRef(randomBytes);
  return ({ upstream, refusal, noticed }) => {
    if (refusal !== undefined)
      log.warn("catalog.unread", { upstream, code: refusal.code, ...refusal.facts }, refusal.cause);
    for (const { kind, name, digest, findings } of noticed) {
      const item = { upstream, kind, name: name.slice(0, nameCharsMax), digest };
      const event = { type: "noticed", ref: ref(), tenant: "", item, findings } as const;
      evidence.record(event);
      log.warn("catalog.noticed", { ref: event.ref, upstream, kind, findings: findings.map((found) => found.kind) });
    }
  };
}

/** The catalog's view of the upstreams: pages of definitions, freed of the hop they came over. */
export function definitionSource(upstreams: Upstreams, timeoutMs: number, account: OnAccountOf): DefinitionSource {
  return {
    identify: async (upstream, signal) => {
      const identity = await upstreams.identify(upstream, account, signal);
      if (!identity.ok) return identity;
      const { hop, capabilities, instructions } = identity.value;
      return ok({ era: hop.era, capabilities, instructions: cleanInstructions(instructions) });
    },
    page: async ({ upstream, kind, cursor, signal }) => {
      const { method, key } = lists[kind];
      const answer = await upstreams.request({
        upstream,
        method,
        params: cursor === undefined ? {} : { cursor },
        account,
        name: undefined,
        inputSchema: undefined,
        kind: undefined,
        signal,
        timeoutMs,
      });
      return pageOf(answer, { upstream, method, key });
    },
  };
}

/** Every client of a server reads them at its first message, so they are cleaned like everything that is listed, and cut. */
function cleanInstructions(instructions: string | undefined): string | undefined {
  if (instructions === undefined) return undefined;
  const cut = instructions.slice(0, limits.instructionsCharsMax).toWellFormed();
  return readOwnString(cleanResult("initialize", { instructions: cut }).value, "instructions");
}

function pageOf(answer: UpstreamAnswer, of: { upstream: string; method: string; key: string }): Result<DefinitionPage> {
  const { upstream, method, key } = of;
  if (answer.kind === "failed") return { ok: false, refusal: answer.refusal };
  if (answer.kind === "error")
    return refuse("UPSTREAM_ANSWER_INVALID", { upstream, method, rpcCode: answer.error.code });
  const result = upstreamResult(answer.hop, method, answer.result);
  if (!result.ok) return result;
  const definitions = readOwn(result.value, key);
  if (!Array.isArray(definitions))
    return refuse("UPSTREAM_ANSWER_INVALID", { upstream, method, fault: `${key} is no array` });
  const objects = definitions.filter((definition): definition is JsonObject => isJsonObject(definition));
  return ok({ definitions: objects, nextCursor: readOwnString(result.value, "nextCursor"), bytes: answer.bytes });
}

function serverShapes(config: Config): ServerShape[] {
  return Object.entries(config.servers).map(([name, server]) => ({
    name,
    upstreams: Object.entries(server.upstreams).map(([upstream, part]) => partOf(upstream, part)),
  }));
}

function partOf(upstream: string, part: ServerUpstreamConfig): UpstreamPart {
  const includes = patternsByKind(part.include);
  const hides = patternsByKind(part.hide);
  return {
    upstream,
    prefix: part.prefix,
    uriPrefix: part.uriPrefix,
    takes: (kind, name) => (includes[kind]?.(name) ?? true) && !(hides[kind]?.(name) ?? false),
    renames: { ...byKind(part.rename), resource: new Map(), template: new Map() },
    descriptions: {
      ...byKind(part.describe),
      resource: new Map(Object.entries(part.describe.resources)),
      template: new Map(Object.entries(part.describe.templates)),
    },
  };
}

function byKind(names: {
  tools: ByName<string>;
  prompts: ByName<string>;
}): Record<"tool" | "prompt", Map<string, string>> {
  return { tool: new Map(Object.entries(names.tools)), prompt: new Map(Object.entries(names.prompts)) };
}

type Matches = (name: string) => boolean;

function patternsByKind(patterns: ItemPatterns): Record<ItemKind, Matches | undefined> {
  return {
    tool: anyOf(patterns.tools),
    prompt: anyOf(patterns.prompts),
    resource: anyOf(patterns.resources),
    template: anyOf(patterns.templates),
  };
}

function anyOf(globs: readonly string[] | undefined): Matches | undefined {
  if (globs === undefined) return undefined;
  const compiled = globs.map((glob) => compileGlob(glob));
  return (name) => compiled.some((glob) => glob.matches(name));
}
