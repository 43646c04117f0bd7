import type { ApprovalOrder } from "../catalog/lock/approve.ts";
import { approveOne } from "../catalog/lock/approve.ts";
import type { LockDocument, LockedUpstream, Signature } from "../catalog/lock/document.ts";
import type { ReadLive } from "../catalog/lock/live.ts";
import { updateUpstream, type LockChange, type Updated } from "../catalog/lock/update.ts";
import type { Config } from "../config/types.ts";
import type { Refusal } from "../model/refusal.ts";
import { changeLines, leftOutLine, refusalText } from "./catalog-lines.ts";
import { keepLock, openLockFile, type LockFile } from "./catalog-file.ts";
import { fromDefinition } from "./catalog-definition.ts";
import { reportFaults } from "./check.ts";
import { loadConfigFile, type Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";
import { no } from "./with-store.ts";

/** What `sallyport catalog` is asked to do. */
export interface CatalogOrder {
  readonly config: string;
  /** Undefined: every upstream that is held to the lock. */
  readonly upstream: string | undefined;
  /** Files that say what an upstream lists, by its name: for those that only users can list. */
  readonly definitions: ReadonlyMap<string, string>;
  readonly wanted:
    | { readonly does: "diff" }
    | { readonly does: "update"; readonly by: string; readonly reason: string }
    | { readonly does: "approve"; readonly by: string; readonly reason: string; readonly approval: ApprovalOrder };
}

/** Reads what upstreams offer now, on the gateway's own account. */
export interface LiveCatalogs {
  read(upstream: string): Promise<LiveAnswer>;
  close(): Promise<void>;
}

export type LiveAnswer = ReadLive | { readonly refusal: Refusal } | { readonly fault: string };

/** Where the command runs. */
export interface CatalogRim {
  readonly env: Environment;
  readonly output: Output;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly open: (config: Config) => Promise<LiveCatalogs>;
}

/** `sallyport catalog`: what the upstreams offer, compared with the lock or written into it. */
export async function catalog(order: CatalogOrder, rim: CatalogRim): Promise<ExitCode> {
  const { output } = rim;
  const loaded = loadConfigFile(order.config, rim.env);
  if (!loaded.ok) {
    reportFaults(order.config, loaded.faults, output);
    return 1;
  }
  const { config } = loaded;
  const stray = [order.upstream, ...order.definitions.keys()].find(
    (name) => name !== undefined && config.upstreams[name] === undefined,
  );
  if (stray !== undefined) {
    output.err(shown(`The configuration has no upstream ${stray}.`));
    return 2;
  }
  if (config.catalogLock === undefined) return no("the configuration names no catalogLock", output);
  const file = openLockFile(config.catalogLock.file, order.wanted.does !== "diff");
  if (!file.ok) {
    reportFaults(config.catalogLock.file, file.faults, output);
    return 1;
  }
  const live = await rim.open(config);
  try {
    return await work(order, rim, { config, file, live });
  } finally {
    await live.close();
  }
}

interface At {
  readonly config: Config;
  readonly file: LockFile;
  readonly live: LiveCatalogs;
}

async function work(order: CatalogOrder, rim: CatalogRim, at: At): Promise<ExitCode> {
  const { wanted } = order;
  if (wanted.does === "approve") return approve({ ...order, wanted }, rim, at);
  const { output } = rim;
  const signature = wanted.does === "diff" ? unsigned : signatureOf(wanted, rim.now());
  const upstreams = new Map(at.file.document.upstreams);
  let [isWhole, isSame] = [true, true];
  for (const name of upstreamsOf(order, at.config)) {
    const updated = await updateOne(name, { order, output, at, signature });
    if (updated === undefined) isWhole = false;
    else upstreams.set(name, updated.upstream);
    if (updated?.changes.length !== 0) isSame = false;
  }
  if (wanted.does === "diff") return isSame ? 0 : 1;
  return keep({ upstreams }, at, output) && isWhole ? 0 : 1;
}

/** A difference is nobody's approval. */
const unsigned: Signature = { by: "", reason: "", at: "" };

function signatureOf({ by, reason }: { readonly by: string; readonly reason: string }, now: number): Signature {
  return { by, reason, at: `${new Date(now).toISOString().slice(0, 19)}Z` };
}

function upstreamsOf({ upstream }: CatalogOrder, { upstreams }: Config): readonly string[] {
  if (upstream !== undefined) return [upstream];
  return Object.keys(upstreams).filter((name) => upstreams[name]?.lock !== "off");
}

interface Updating {
  readonly order: CatalogOrder;
  readonly output: Output;
  readonly at: At;
  readonly signature: Signature;
}

/** Undefined for an upstream that cannot be read: what the lock has of it stays. */
async function updateOne(name: string, { order, output, at, signature }: Updating): Promise<Updated | undefined> {
  const read = await readOne(name, order, at);
  if (!("live" in read)) {
    output.err(shown(`${name}: not read (${refusalText(read)}); what the lock has of it stays.`));
    return undefined;
  }
  const known: LockedUpstream | undefined = at.file.document.upstreams.get(name);
  const updated = updateUpstream(known, read.live, signature);
  tell(name, updated.changes, output);
  for (const item of read.leftOut) output.err(shown(leftOutLine(name, item)));
  return updated;
}

function tell(name: string, changes: readonly LockChange[], output: Output): void {
  const count =
    changes.length === 0 ? "as in the lock" : changes.length === 1 ? "1 change" : `${changes.length} changes`;
  output.out(shown(`${name}: ${count}`));
  for (const line of changes.flatMap(changeLines)) output.out(shown(line));
}

async function readOne(name: string, order: CatalogOrder, { config, live }: At): Promise<LiveAnswer> {
  const file = order.definitions.get(name);
  return file === undefined ? live.read(name) : fromDefinition(name, file, config);
}

async function approve(
  order: CatalogOrder & { readonly wanted: Extract<CatalogOrder["wanted"], { does: "approve" }> },
  { output, now }: CatalogRim,
  at: At,
): Promise<ExitCode> {
  const name = order.upstream ?? "";
  const { approval } = order.wanted;
  const read = await readOne(name, order, at);
  if (!("live" in read)) return no(`${name} cannot be read: ${refusalText(read)}`, output);
  const known = at.file.document.upstreams.get(name);
  const approved = approveOne(known, read.live, approval, signatureOf(order.wanted, now()));
  if (!approved.ok) return no(approved.because, output);
  if (!keep({ upstreams: new Map(at.file.document.upstreams).set(name, approved.upstream) }, at, output)) return 1;
  output.out(shown(`Approved ${[approval.kind, approval.name].join(" ").trim()} of ${name}: ${approved.digest}`));
  return 0;
}

function keep(document: LockDocument, { file }: At, output: Output): boolean {
  const kept = keepLock(file, document);
  if (!kept.ok) reportFaults(file.path, kept.faults, output);
  return kept.ok;
}
