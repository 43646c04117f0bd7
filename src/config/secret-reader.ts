import { dirname, resolve } from "node:path";
import { limits } from "../model/limits.ts";
import { Secret } from "./secret.ts";
import { systemCode } from "./system-code.ts";
import type { Place, PlacedFault } from "./fault.ts";

export interface SecretReader {
  /** The secret that a reference leads to. When it leads nowhere: an empty secret, and a fault. */
  readonly read: (place: Place, reference: string) => Secret;
  /** Undefined for a reference that is not there. */
  readonly readOptional: (place: Place, reference: string | undefined) => Secret | undefined;
  readonly faults: () => readonly PlacedFault[];
}

/** Where references lead: the environment, and files relative to the folder of `path`. */
export interface SecretPlaces {
  readonly path: string;
  readonly env: (name: string) => string | undefined;
  readonly readFile: (path: string) => string;
}

/**
 * Follows `${env:NAME}` and `${file:PATH}`. One trailing line break of a file is dropped, because
 * editors and `echo` add it; an empty secret is refused, because it is a mount or a variable that failed.
 */
export function createSecretReader(places: SecretPlaces): SecretReader {
  const faults: PlacedFault[] = [];
  const read = (place: Place, reference: string): Secret => {
    const found = follow(reference, places);
    if (found.ok) return new Secret(found.value);
    faults.push({ place, found: found.fault, expected: found.expected, rule: "secretsAreReadable" });
    return new Secret("");
  };
  return {
    read,
    readOptional: (place, reference) => (reference === undefined ? undefined : read(place, reference)),
    faults: () => faults,
  };
}

type Followed =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly fault: string; readonly expected: string };

function follow(reference: string, places: SecretPlaces): Followed {
  const target = reference.slice(reference.indexOf(":") + 1, -1);
  return reference.startsWith("${env:") ? fromEnvironment(target, places) : fromFile(target, places);
}

function fromEnvironment(name: string, places: SecretPlaces): Followed {
  const value = places.env(name);
  const expected = `environment variable ${name} with a value`;
  if (value === undefined) return { ok: false, fault: `${name} is not set`, expected };
  return bounded(value, name, expected);
}

function fromFile(target: string, places: SecretPlaces): Followed {
  const path = resolve(dirname(places.path), target);
  const expected = `a readable, non-empty file ${path}`;
  try {
    return bounded(places.readFile(path).replace(/\r?\n$/u, ""), path, expected);
  } catch (error) {
    return { ok: false, fault: `${path} cannot be read (${systemCode(error)})`, expected };
  }
}

function bounded(value: string, name: string, expected: string): Followed {
  if (value === "") return { ok: false, fault: `${name} is empty`, expected };
  if (Buffer.byteLength(value) <= limits.secretBytesMax) return { ok: true, value };
  return { ok: false, fault: `${name} is larger than ${limits.secretBytesMax} bytes`, expected };
}
