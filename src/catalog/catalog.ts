import type { Refusal } from "../model/refusal.ts";
import { linkedEntry } from "./linked-entry.ts";
import type { Principal } from "../model/principal.ts";
import type { PersonalCatalogs, Reader } from "./personal.ts";
import { presentationFor, type Presentation } from "./presentation.ts";
import type { ServerShape } from "./shape.ts";
import type { Snapshot, Snapshots } from "./snapshots.ts";
import { buildTable, type Entry, type ServerTable, type TableFor, type TableParts } from "./table.ts";

export interface Catalog {
  /**
   * The server's table now, as it is for this reader; without one, what is read on the gateway's own account. Without
   * a presentation it has the names that the server has for everybody. Synchronous when every upstream's lists are
   * known.
   */
  table(server: string, reader?: Reader, presentation?: Presentation): ServerTable | Promise<ServerTable>;
  /** The presentation under which the principal sees the server; undefined where none applies. */
  presentationFor(server: string, principal: Principal): Presentation | undefined;
  /** All of the server's, in the order in which they are tried. */
  presentationsOf(server: string): readonly Presentation[];
  /** Whether a table of the server differs by reader. */
  isPersonal(server: string): boolean;
  /** The upstreams of the server that are read on the gateway's own account. */
  sharedUpstreamsOf(server: string): readonly string[];
  readonly personal: Pick<PersonalCatalogs, "follow" | "forget">;
  /** The upstreams that the server is made of, in the order of the configuration. */
  upstreamsOf(server: string): readonly string[];
  /** The entry that a resource of the upstream would have in the table; undefined when that leaves it out. */
  linked(table: Pick<ServerTable, "server" | "presentation">, upstream: string, uri: string): Entry | undefined;
  /**
   * Milliseconds: the age of the oldest list in the server's table, where that is more than `catalogAgeMsMax`, as its
   * upstream does not answer or is being asked; else 0.
   */
  staleMs(server: string, reader?: Reader): number;
  /** Reads an upstream's lists anew when they are older than `catalogAgeMsMax`. */
  look(upstream: string): void;
  /** Reads an upstream's lists anew, as they are said to have changed. */
  refresh(upstream: string): Promise<void>;
  /** Calls `heard` with every upstream that a reading finds changed. */
  onChange(heard: (upstream: string) => void): void;
}

/** Tells those who want to know of an upstream's change. */
export interface Changes {
  tell(upstream: string): void;
  onChange(heard: (upstream: string) => void): void;
}

export function createChanges(): Changes {
  const listeners: ((upstream: string) => void)[] = [];
  return {
    tell: (upstream) => {
      for (const heard of listeners) heard(upstream);
    },
    onChange: (heard) => {
      listeners.push(heard);
    },
  };
}

/**
 * Joins the upstreams' snapshots to one table per virtual server, and per reader where a server has upstreams that are
 * read for each person. A table is built anew only when a snapshot changed. An upstream that cannot be read is named
 * in `missing` and costs the others nothing but, at most once per pause, `catalogWaitMsMax`.
 */
export function createCatalog(options: {
  servers: readonly ServerShape[];
  snapshots: Snapshots;
  changes: Pick<Changes, "onChange">;
  personal: PersonalCatalogs;
  /** Upstreams whose lists are read for each person. */
  isPersonal: (upstream: string) => boolean;
  /** `catalogAgeMsMax`. */
  ageMsMax: number;
}): Catalog {
  const { personal, snapshots, isPersonal } = options;
  const shapes = new Map(options.servers.map((server) => [server.name, server]));
  const built = new Map<string, ServerTable>();
  const personalServers = new Set(
    options.servers.filter((server) => server.upstreams.some(({ upstream }) => isPersonal(upstream))).map(nameOf),
  );
  const shapeOf = (name: string): ServerShape => {
    const server = shapes.get(name);
    if (server === undefined) throw new Error(`no server is configured as ${name}`);
    return server;
  };
  const table = (name: string, reader?: Reader, presentation?: Presentation): ServerTable | Promise<ServerTable> => {
    const own = reader === undefined || !personalServers.has(name) ? undefined : personal.of(reader);
    const from = (upstream: string): Snapshots | undefined => (isPersonal(upstream) ? own?.snapshots : snapshots);
    const wanted = { server: shapeOf(name), presentation, forSomebody: own !== undefined };
    return tableOf({ ...wanted, from, isPersonal, built: own?.tables ?? built });
  };
  return {
    table,
    presentationFor: (name, principal) => presentationFor(shapeOf(name).presentations, principal),
    presentationsOf: (name) => shapeOf(name).presentations,
    isPersonal: (name) => personalServers.has(name),
    sharedUpstreamsOf: (name) => upstreamsOf(shapeOf(name)).filter((upstream) => !isPersonal(upstream)),
    staleMs: (name, reader) => {
      const own = reader === undefined ? undefined : personal.of(reader);
      const ages = upstreamsOf(shapeOf(name)).map(
        (upstream) => (isPersonal(upstream) ? own?.snapshots : snapshots)?.ageMs(upstream) ?? 0,
      );
      const oldest = Math.max(0, ...ages);
      return oldest > options.ageMsMax ? oldest : 0;
    },
    personal,
    upstreamsOf: (name) => upstreamsOf(shapeOf(name)),
    linked: ({ server, presentation }, upstream, uri) => {
      const { upstreams } = presentation ?? shapeOf(server);
      const part = upstreams.find((candidate) => candidate.upstream === upstream);
      return part === undefined ? undefined : linkedEntry(part, uri);
    },
    look: (upstream) => {
      snapshots.current(upstream);
    },
    refresh: (upstream) => snapshots.refresh(upstream),
    onChange: options.changes.onChange,
  };
}

function nameOf({ name }: ServerShape): string {
  return name;
}

function upstreamsOf({ upstreams }: ServerShape): readonly string[] {
  return upstreams.map(({ upstream }) => upstream);
}

/** Where a table comes from, and where those that were built before are. */
interface TableSource extends TableFor {
  /** Undefined for an upstream that nobody is there to read for. */
  readonly from: (upstream: string) => Snapshots | undefined;
  readonly isPersonal: (upstream: string) => boolean;
  readonly built: Map<string, ServerTable>;
}

function tableOf(source: TableSource): ServerTable | Promise<ServerTable> {
  const { server, from } = source;
  const current: Snapshot[] = [];
  const unconnected: string[] = [];
  let isWhole = true;
  for (const { upstream } of server.upstreams) {
    const snapshots = from(upstream);
    const snapshot = snapshots?.current(upstream);
    if (snapshot !== undefined) current.push(snapshot);
    else if (snapshots === undefined) unconnected.push(upstream);
    else isWhole = false;
  }
  if (isWhole) return remembered(source, { snapshots: current, missing: [], unconnected });
  return gather(source).then((parts) => remembered(source, parts));
}

function remembered(source: TableSource, parts: TableParts): ServerTable {
  const { server, presentation, built } = source;
  // Neither name has a space.
  const key = presentation === undefined ? server.name : `${server.name} ${presentation.id}`;
  const known = built.get(key);
  if (known !== undefined && sameParts(known, parts)) return known;
  const fresh = buildTable(source, parts);
  built.set(key, fresh);
  return fresh;
}

async function gather({ server, from, isPersonal }: TableSource): Promise<TableParts> {
  const answers = await Promise.all(
    server.upstreams.map(async ({ upstream }) => ({ upstream, answer: await from(upstream)?.wait(upstream) })),
  );
  const snapshots: Snapshot[] = [];
  const missing: { upstream: string; refusal: Refusal }[] = [];
  const unconnected: string[] = [];
  for (const { upstream, answer } of answers)
    if (answer === undefined) unconnected.push(upstream);
    else if ("items" in answer) snapshots.push(answer);
    else if (isPersonal(upstream) && answer.code === "UPSTREAM_CONNECTION_REQUIRED") unconnected.push(upstream);
    else missing.push({ upstream, refusal: answer });
  return { snapshots, missing, unconnected };
}

function sameParts(known: ServerTable, { snapshots, missing, unconnected }: TableParts): boolean {
  return (
    known.snapshots.length === snapshots.length &&
    known.snapshots.every((snapshot, at) => snapshot === snapshots[at]) &&
    known.missing.length === missing.length &&
    known.missing.every((absent, at) => absent.refusal === missing[at]?.refusal) &&
    known.unconnected.length === unconnected.length &&
    known.unconnected.every((upstream, at) => upstream === unconnected[at])
  );
}
