import { readOwnString, type Json } from "../model/json.ts";
import type { Subject } from "../model/principal.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { writeJson } from "../protocol/json/write.ts";

/** A command has let somebody in no more, or again. */
export interface AccessChange {
  readonly who: Subject;
  readonly did: "denied" | "admitted";
  /** Leads from what the command said to the evidence. */
  readonly ref: string;
}

/** As it crosses to the replicas. */
export function writeAccessChange({ who: { tenant, issuer, subject }, did, ref }: AccessChange): string {
  return writeJson({ tenant, issuer, subject, did, ref });
}

/** Undefined for what is no such text: a command of another version may have sent it. */
export function readAccessChange(text: string): AccessChange | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const who = subjectOf(value);
  const did = readOwnString(value, "did");
  const ref = readOwnString(value, "ref");
  if (who === undefined || ref === undefined || (did !== "denied" && did !== "admitted")) return undefined;
  return { who, did, ref };
}

export function subjectOf(value: Json | undefined): Subject | undefined {
  const [tenant, issuer, subject] = ["tenant", "issuer", "subject"].map((name) => readOwnString(value, name));
  if (tenant === undefined || issuer === undefined || subject === undefined) return undefined;
  return { tenant, issuer, subject };
}
