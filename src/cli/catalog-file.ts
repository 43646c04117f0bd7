import { closeSync, fsyncSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { emptyDocument, type LockDocument } from "../catalog/lock/document.ts";
import { compileLock } from "../catalog/lock/lock.ts";
import type { LockFault } from "../catalog/lock/strict-reading.ts";
import { writeDocument } from "../catalog/lock/write-document.ts";
import type { ConfigFault } from "../config/fault.ts";
import { systemCode } from "../config/system-code.ts";

/** A catalog lock as it stands in its file. */
export interface LockFile {
  readonly ok: true;
  readonly path: string;
  /** Undefined: there is no such file yet. */
  readonly text: string | undefined;
  readonly document: LockDocument;
}

export interface Faulty {
  readonly ok: false;
  readonly faults: readonly ConfigFault[];
}

/** Reads a lock; where `mayBeAbsent`, one that is not there is an empty one. Never throws. */
export function openLockFile(path: string, mayBeAbsent: boolean): LockFile | Faulty {
  const text = readText(path);
  if (typeof text !== "string") {
    if (text.code === "ENOENT" && mayBeAbsent) return { ok: true, path, text: undefined, document: emptyDocument };
    return faulty([{ path: "", found: `nothing readable (${text.code})`, expected: "a catalog lock" }]);
  }
  const compiled = compileLock(text);
  return compiled.ok ? { ok: true, path, text, document: compiled.lock.document } : faulty(compiled.faults);
}

function readText(path: string): string | { readonly code: string } {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return { code: systemCode(error) };
  }
}

function faulty(faults: readonly LockFault[]): Faulty {
  return { ok: false, faults: faults.map((fault) => ({ ...fault, rule: "catalogLock" })) };
}

/**
 * Writes the lock in the file's place, whole or not at all. What would not be read again is not written, nor is
 * anything over what somebody else wrote meanwhile.
 */
export function keepLock({ path, text: before }: LockFile, document: LockDocument): { readonly ok: true } | Faulty {
  const text = writeDocument(document);
  if (text === before) return { ok: true };
  const compiled = compileLock(text);
  if (!compiled.ok) return faulty(compiled.faults);
  const now = readText(path);
  if ((typeof now === "string" ? now : undefined) !== before)
    return faulty([{ path: "", found: "a lock that changed meanwhile", expected: "the lock as it was read" }]);
  try {
    replaceFile(typeof now === "string" ? realpathSync(path) : path, text);
    return { ok: true };
  } catch (error) {
    return faulty([{ path: "", found: `no way to write (${systemCode(error)})`, expected: "a writable file" }]);
  }
}

/** Beside the file and then in its place, so that nobody ever reads a part. */
function replaceFile(path: string, text: string): void {
  const beside = `${path}.${process.pid}.new`;
  const file = openSync(beside, "wx", 0o644);
  try {
    try {
      // Writes on after a part: a disk that is nearly full takes a part without an error.
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
