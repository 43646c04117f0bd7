import { readOwn, readOwnString } from "../../model/json.ts";
import type { Subject } from "../../model/principal.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { subjectOf } from "../crossing-subject.ts";

/** A person's own grant at an upstream came, went, or was opened to another client. */
export interface Change {
  readonly person: Subject;
  readonly upstream: string;
}

/** As it crosses to other replicas. */
export function writeChange({ person: { tenant, issuer, subject }, upstream }: Change): string {
  return writeJson({ person: { tenant, issuer, subject }, upstream });
}

/** Undefined for what is no such text: a replica of another version may have sent it. */
export function readChange(text: string): Change | undefined {
  const parsed = parseJsonText(text);
  if (!parsed.ok) return undefined;
  const upstream = readOwnString(parsed.value, "upstream");
  const person = subjectOf(readOwn(parsed.value, "person"));
  return upstream === undefined || person === undefined ? undefined : { person, upstream };
}
