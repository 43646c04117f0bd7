import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { BundleTexts } from "./cli/load-policies.ts";
import { openSealer, type OpenSealer } from "./compose-sealer.ts";
import type { PolicyText } from "./config/policies.ts";
import { systemCode } from "./config/system-code.ts";
import type { Config } from "./config/types.ts";
import type { RecordKey, RecordReads, RecordWrites } from "./model/records.ts";

/** Where the texts of what was last put in force are kept for a start at which the files are broken. */
export interface KeptBundle {
  /** Undefined where there are none that this gateway wrote whole. Rejects when the place cannot be read. */
  read(): Promise<BundleTexts | undefined>;
  write(texts: BundleTexts): Promise<void>;
}

/** What holds sealed pieces under names. */
interface Shelf {
  get(name: string): Promise<string | undefined>;
  set(name: string, text: string): Promise<void>;
  /** What nothing names any more. */
  leave(name: string): Promise<void>;
}

type Store = Pick<RecordReads, "get"> & Pick<RecordWrites, "set" | "touch">;

/**
 * In the file that `lastGoodBundle` names, else in the shared store, else nowhere. Sealed with `keys.session`: whoever
 * can write to the place cannot write policy, yet can bring back what was in force at an earlier time.
 */
export function openKeptBundle(config: Config, store: Store): KeptBundle | undefined {
  const sealer = openSealer("bundle", config);
  if (config.lastGoodBundle !== undefined) return inFile(config.lastGoodBundle, sealer);
  return config.store.kind === "redis" ? onShelf(storeShelf(store, config.limits), sealer) : undefined;
}

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Of the text, so that a sealed piece fits into a record. */
const pieceCharsMax = 500_000;

const headName = "head";

function onShelf(shelf: Shelf, sealer: OpenSealer): KeptBundle {
  const namesKept = async (): Promise<readonly string[]> => {
    const head = sealer.open(headName, (await shelf.get(headName)) ?? "");
    const [id, count] = head?.split(" ") ?? [];
    return id === undefined ? [] : namesOf(id, Number(count));
  };
  return {
    read: async () => {
      const names = await namesKept();
      if (names.length === 0) return undefined;
      const pieces = await Promise.all(names.map(async (name) => sealer.open(name, (await shelf.get(name)) ?? "")));
      return pieces.includes(undefined) ? undefined : unpack(pieces.join(""));
    },
    write: async (texts) => {
      const packed = (await zip(JSON.stringify(texts))).toString("base64");
      const id = createHash("sha256").update(packed).digest("hex").slice(0, 16);
      const names = namesOf(id, Math.ceil(packed.length / pieceCharsMax));
      const before = await namesKept();
      // The head last: what it names is whole.
      for (const [at, name] of names.entries())
        await shelf.set(name, sealer.seal(name, packed.slice(at * pieceCharsMax, (at + 1) * pieceCharsMax)));
      await shelf.set(headName, sealer.seal(headName, `${id} ${names.length}`));
      for (const name of before) if (!names.includes(name)) await shelf.leave(name);
    },
  };
}

function namesOf(id: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${id} ${at} of ${count}`);
}

/** Authentic, and perhaps written by another version of the gateway: what this one cannot read is as if it were not there. */
async function unpack(packed: string): Promise<BundleTexts | undefined> {
  const text = (await unzip(Buffer.from(packed, "base64"))).toString("utf8");
  const value: unknown = JSON.parse(text);
  return isBundle(value) ? value : undefined;
}

function isBundle(value: unknown): value is BundleTexts {
  if (typeof value !== "object" || value === null || !("policies" in value)) return false;
  const lock = "lock" in value ? value.lock : undefined;
  return Array.isArray(value.policies) && value.policies.every(isPolicyText) && isTextOrNone(lock);
}

/** JSON has no undefined member, so who has no owner has none. */
function isPolicyText(value: unknown): value is PolicyText {
  if (typeof value !== "object" || value === null || !("path" in value) || !("text" in value)) return false;
  const owner = "owner" in value ? value.owner : undefined;
  return typeof value.path === "string" && typeof value.text === "string" && isTextOrNone(owner);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** Pieces that nothing names are left for a replica that has read their names already, and then go by themselves. */
function storeShelf(store: Store, { keptBundleMs, formerBundleMs }: Config["limits"]): Shelf {
  const key = (name: string): RecordKey => ["bundle", "default", name];
  return {
    get: (name) => store.get(key(name)),
    set: (name, text) => store.set(key(name), text, keptBundleMs),
    leave: async (name) => {
      await store.touch(key(name), formerBundleMs);
    },
  };
}

/** A line for each piece. It is replaced as a whole, so that a stop in between leaves the one before. */
function inFile(path: string, sealer: OpenSealer): KeptBundle {
  return {
    read: async () => {
      const text = await readFile(path, "utf8").catch((error: unknown) => {
        if (systemCode(error) === "ENOENT") return "";
        throw error;
      });
      const lines = new Map(text.split("\n").map((line) => nameAndText(line)));
      const get = (name: string): Promise<string | undefined> => Promise.resolve(lines.get(name));
      return onShelf({ get, set: nowhere, leave: nowhere }, sealer).read();
    },
    write: async (texts) => {
      const lines: string[] = [];
      const set = (name: string, sealed: string): Promise<void> => {
        lines.push(`${name}\t${sealed}`);
        return Promise.resolve();
      };
      await onShelf({ get: () => Promise.resolve(undefined), set, leave: nowhere }, sealer).write(texts);
      await writeFile(`${path}.new`, lines.join("\n"), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

const nowhere = (): Promise<void> => Promise.resolve();

function nameAndText(line: string): [string, string] {
  const tab = line.indexOf("\t");
  return [line.slice(0, tab), line.slice(tab + 1)];
}
