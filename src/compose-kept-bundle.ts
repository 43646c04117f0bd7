import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { BundleTexts } from "./cli/load-policies.ts";
import { openSealer, type OpenSealer } from "./compose-sealer.ts";
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
}

/**
 * In the file that `lastGoodBundle` names, else in the shared store, else nowhere. Sealed with `keys.session`: whoever
 * can write to the place cannot write policy, yet can bring back what was in force at an earlier time.
 */
export function openKeptBundle(
  config: Config,
  store: Pick<RecordReads, "get"> & Pick<RecordWrites, "set">,
): KeptBundle | undefined {
  const sealer = openSealer("bundle", config);
  if (config.lastGoodBundle !== undefined) return inFile(config.lastGoodBundle, sealer);
  return config.store.kind === "redis" ? onShelf(storeShelf(store, config.limits.keptBundleMs), sealer) : undefined;
}

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Of the text, so that a sealed piece fits into a record. */
const pieceCharsMax = 500_000;

const headName = "head";

function onShelf(shelf: Shelf, sealer: OpenSealer): KeptBundle {
  return {
    read: async () => {
      const head = sealer.open(headName, (await shelf.get(headName)) ?? "");
      const [id, count] = head?.split(" ") ?? [];
      if (id === undefined) return undefined;
      const names = namesOf(id, Number(count));
      const pieces = await Promise.all(names.map(async (name) => sealer.open(name, (await shelf.get(name)) ?? "")));
      return pieces.includes(undefined) ? undefined : unpack(pieces.join(""));
    },
    write: async (texts) => {
      const packed = (await zip(JSON.stringify(texts))).toString("base64");
      const id = createHash("sha256").update(packed).digest("hex").slice(0, 16);
      const names = namesOf(id, Math.ceil(packed.length / pieceCharsMax));
      // The head last: what it names is whole.
      for (const [at, name] of names.entries())
        await shelf.set(name, sealer.seal(name, packed.slice(at * pieceCharsMax, (at + 1) * pieceCharsMax)));
      await shelf.set(headName, sealer.seal(headName, `${id} ${names.length}`));
    },
  };
}

function namesOf(id: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${id} ${at} of ${count}`);
}

/** What was sealed here. */
async function unpack(packed: string): Promise<BundleTexts> {
  const text = (await unzip(Buffer.from(packed, "base64"))).toString("utf8");
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- sealed by this file, which wrote it so
  return JSON.parse(text) as BundleTexts;
}

function storeShelf(store: Pick<RecordReads, "get"> & Pick<RecordWrites, "set">, ttlMs: number): Shelf {
  const key = (name: string): RecordKey => ["bundle", "default", name];
  return { get: (name) => store.get(key(name)), set: (name, text) => store.set(key(name), text, ttlMs) };
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
      const shelf = { get: (name: string) => Promise.resolve(lines.get(name)), set: () => Promise.resolve() };
      return onShelf(shelf, sealer).read();
    },
    write: async (texts) => {
      const lines: string[] = [];
      const set = (name: string, sealed: string): Promise<void> => {
        lines.push(`${name}\t${sealed}`);
        return Promise.resolve();
      };
      await onShelf({ get: () => Promise.resolve(undefined), set }, sealer).write(texts);
      await writeFile(`${path}.new`, lines.join("\n"), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

function nameAndText(line: string): [string, string] {
  const tab = line.indexOf("\t");
  return [line.slice(0, tab), line.slice(tab + 1)];
}
