import type { Refusal } from "../model/refusal.ts";
import { linkedEntry } from "./linked-entry.ts";
import type { ServerShape } from "./shape.ts";
import type { Snapshot, Snapshots } from "./snapshots.ts";
import { buildTable, type Entry, type ServerTable } from "./table.ts";

export interface Catalog {
  /** The server's table now. Synchronous when every upstream's lists are known. */
  table(server: string): ServerTable | Promise<ServerTable>;
  /** The upstreams that the server is made of, in the order of the configuration. */
  upstreamsOf(server: string): readonly string[];
  /** The entry that a resource of the upstream would have in the server; undefined when the server leaves it out. */
  linked(server: string, upstream: string, uri: string): Entry | undefined;
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
 * Joins the upstreams' snapshots to one table per virtual server. A table is built anew only when a
 * snapshot changed. An upstream that cannot be read is named in `missing` and costs the others nothing
 * but, at most once per pause, `catalogWaitMsMax`.
 */
export function createCatalog(options: {
  servers: readonly ServerShape[];
  snapshots: Snapshots;
  changes: Pick<Changes, "onChange">;
}): Catalog {
  const shapes = new Map(options.servers.map((server) => [server.name, server]));
  const built = new Map<string, ServerTable>();
  const shapeOf = (name: string): ServerShape => {
    const server = shapes.get(name);
    if (server === undefined) throw new Error(`no server is configured as ${name}`);
    return server;
  };
  const table = (name: string): ServerTable | Promise<ServerTable> => {
    const server = shapeOf(name);
    const current = server.upstreams.map((part) => options.snapshots.current(part.upstream));
    if (current.every((snapshot) => snapshot !== undefined)) return remembered(server, current, []);
    return gather(server, options.snapshots).then(({ snapshots, missing }) => remembered(server, snapshots, missing));
  };
  const remembered = (
    server: ServerShape,
    snapshots: readonly Snapshot[],
    missing: ServerTable["missing"],
  ): ServerTable => {
    const known = built.get(server.name);
    if (known !== undefined && sameParts(known, snapshots, missing)) return known;
    const fresh = buildTable(server, snapshots, missing);
    built.set(server.name, fresh);
    return fresh;
  };
  return {
    table,
    upstreamsOf: (name) => shapeOf(name).upstreams.map(({ upstream }) => upstream),
    linked: (name, upstream, uri) => {
      const part = shapeOf(name).upstreams.find((candidate) => candidate.upstream === upstream);
      return part === undefined ? undefined : linkedEntry(part, uri);
    },
    look: (upstream) => {
      options.snapshots.current(upstream);
    },
    refresh: (upstream) => options.snapshots.refresh(upstream),
    onChange: options.changes.onChange,
  };
}

async function gather(
  server: ServerShape,
  snapshots: Snapshots,
): Promise<{ snapshots: Snapshot[]; missing: { upstream: string; refusal: Refusal }[] }> {
  const answers = await Promise.all(
    server.upstreams.map(async ({ upstream }) => ({ upstream, answer: await snapshots.wait(upstream) })),
  );
  const have: Snapshot[] = [];
  const missing: { upstream: string; refusal: Refusal }[] = [];
  for (const { upstream, answer } of answers)
    if ("items" in answer) have.push(answer);
    else missing.push({ upstream, refusal: answer });
  return { snapshots: have, missing };
}

function sameParts(known: ServerTable, snapshots: readonly Snapshot[], missing: ServerTable["missing"]): boolean {
  return (
    known.snapshots.length === snapshots.length &&
    known.snapshots.every((snapshot, at) => snapshot === snapshots[at]) &&
    known.missing.length === missing.length &&
    known.missing.every((absent, at) => absent.refusal === missing[at]?.refusal)
  );
}
