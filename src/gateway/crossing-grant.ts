import { isJsonObject, readOwn, readOwnString, type Json } from "../model/json.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { writeJson } from "../protocol/json/write.ts";
import type { GrantChange } from "../upstream/grants/port.ts";
import { subjectOf } from "./crossing-subject.ts";

/** A command has done something to somebody's grant. */
export interface ToldGrantChange {
  readonly change: GrantChange;
  /** Leads from what the command said to the evidence. */
  readonly ref: string;
}

/** As it crosses to the replicas. */
export function writeGrantChange({ change, ref }: ToldGrantChange): string {
  const { did, person, upstream, issuer, scopes, clientId, reason } = change;
  const { tenant, subject } = person;
  const about = { did, person: { tenant, issuer: person.issuer, subject }, upstream, issuer, scopes: [...scopes] };
  return writeJson({ ref, change: { ...about, clientId, ...(reason === undefined ? {} : { reason }) } });
}

/** Undefined for what is no such text: a command of another version may have sent it. */
export function readGrantChange(text: string): ToldGrantChange | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const ref = readOwnString(value, "ref");
  const change = changeIn(readOwn(value, "change"));
  return ref === undefined || change === undefined ? undefined : { change, ref };
}

const ends: readonly GrantChange["did"][] = ["connected", "opened", "revoked", "lost", "assigned"];

function changeIn(value: Json | undefined): GrantChange | undefined {
  if (!isJsonObject(value)) return undefined;
  const did = ends.find((one) => one === readOwnString(value, "did"));
  const person = subjectOf(readOwn(value, "person"));
  const [upstream, issuer, clientId] = ["upstream", "issuer", "clientId"].map((name) => readOwnString(value, name));
  const scopes = readOwn(value, "scopes");
  if (did === undefined || person === undefined || upstream === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || !isTextList(scopes)) return undefined;
  const reason = readOwnString(value, "reason");
  return { did, person, upstream, issuer, scopes, clientId, ...(reason === undefined ? {} : { reason }) };
}

function isTextList(value: Json | undefined): value is readonly string[] & Json {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
