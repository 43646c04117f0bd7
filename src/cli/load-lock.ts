import { readFileSync, statSync } from "node:fs";
import { compileLock, type Lock } from "../catalog/lock/lock.ts";
import type { ConfigFault } from "../config/fault.ts";
import { lockIdentityOf } from "../config/lock-identity.ts";
import { systemCode } from "../config/system-code.ts";
import type { Config } from "../config/types.ts";
import { limits } from "../model/limits.ts";

export type ReadLock =
  | { readonly ok: true; readonly text: string | undefined }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

export type LoadedLock =
  | { readonly ok: true; readonly lock: Lock | undefined; readonly warnings: readonly ConfigFault[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/** The text of the lock that a configuration names; undefined where it names none. Never throws. */
export function readLock({ catalogLock }: Config): ReadLock {
  return catalogLock === undefined ? { ok: true, text: undefined } : readLockFile(catalogLock.file);
}

export function readLockFile(file: string): ReadLock {
  try {
    const status = statSync(file);
    if (!status.isFile()) return unread(file, "no regular file");
    if (status.size > limits.catalogLockBytesMax) return unread(file, `${status.size} bytes`);
    return { ok: true, text: readFileSync(file, "utf8") };
  } catch (error) {
    return unread(file, `nothing readable (${systemCode(error)})`);
  }
}

function unread(path: string, found: string): ReadLock {
  const expected = "a catalog lock, which sallyport catalog update writes";
  return { ok: false, faults: [{ path, found, expected, rule: "catalogLockIsReadable" }] };
}

/** Compiles what was read, for this configuration. Never throws. */
export function compileLockFor(config: Config, text: string | undefined): LoadedLock {
  const { catalogLock } = config;
  if (catalogLock === undefined) return { ok: true, lock: undefined, warnings: [] };
  if (text === undefined) return { ok: false, faults: [lockFault(catalogLock.file, "nothing", "a catalog lock")] };
  const compiled = compileLock(text);
  if (compiled.ok)
    return { ok: true, lock: compiled.lock, warnings: warningsOf(config, catalogLock.file, compiled.lock) };
  const faults = compiled.faults.map(({ path, found, expected }) =>
    lockFault([catalogLock.file, path].filter((part) => part !== "").join(" "), found, expected),
  );
  return { ok: false, faults };
}

function lockFault(path: string, found: string, expected: string): ConfigFault {
  return { path, found, expected, rule: "catalogLock" };
}

/** What would be withheld as a whole, and what is approved for nobody. */
function warningsOf({ upstreams }: Config, file: string, { document }: Lock): readonly ConfigFault[] {
  const held = Object.entries(upstreams).filter(([, { lock }]) => lock !== "off");
  const told = held.flatMap(([name, upstream]): ConfigFault[] => {
    const locked = document.upstreams.get(name)?.identity;
    const path = `upstreams.${name}`;
    if (locked === undefined) {
      const expected = `an approved catalog in ${file}: all of its items count as new`;
      return [{ path, found: "nothing in the catalog lock", expected, rule: "catalogLockHasTheUpstream" }];
    }
    const own = lockIdentityOf(upstream);
    if (own.url === locked.url && own.authorization === locked.authorization) return [];
    const found = `${own.url} with ${own.authorization}`;
    const expected = `${locked.url} with ${locked.authorization}, whose catalog was approved: none of its items is`;
    return [{ path, found, expected, rule: "catalogLockMeansTheUpstream" }];
  });
  const strange = [...document.upstreams.keys()].filter((name) => upstreams[name] === undefined);
  const unused = strange.map((name): ConfigFault => {
    const found = `upstream ${name}`;
    return { path: file, found, expected: "an upstream of the configuration", rule: "catalogLockIsUsed" };
  });
  return [...told, ...unused];
}
