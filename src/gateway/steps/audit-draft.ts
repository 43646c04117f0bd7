import type { AuditDraft } from "../../audit/port.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import { isJsonObject, readOwn } from "../../model/json.ts";
import type { Principal } from "../../model/principal.ts";
import type { Refusal } from "../../model/refusal.ts";
import { canonicalJson } from "../../protocol/json/canonical.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** What audit learns of an exchange: who, where, what, decided how. Arguments only as keyed digest and the fields policy read. */
export function draftOf(
  x: Exchange,
  g: Gateway,
  fact: { type: AuditDraft["type"]; refusal?: Refusal; durationMs?: number },
): AuditDraft {
  return {
    type: fact.type,
    ref: x.ref,
    tenant: x.principal?.tenant ?? "default",
    server: x.arrival.server.name,
    ...who(x.principal),
    ...hops(x),
    ...target(x, g),
    ...(x.decision === undefined ? {} : { decision: x.decision, read: fieldsRead(x, g) }),
    ...(x.listed === undefined ? {} : { listed: x.listed }),
    ...ending(x, fact),
  };
}

function who(principal: Principal | undefined): Pick<AuditDraft, "principal"> {
  if (principal === undefined) return {};
  const { issuer, kind, subject, clientId, groups, scopes } = principal;
  return { principal: { issuer, kind, subject, clientId, groups, scopes } };
}

function hops(x: Exchange): Partial<AuditDraft> {
  if (x.classified === undefined) return {};
  const { era } = x.classified;
  return {
    method: methodOf(x),
    client: { era, revision: x.session?.revision ?? x.classified.revision ?? "" },
    ...(x.hop === undefined ? {} : { upstreamHop: x.hop }),
  };
}

function target(x: Exchange, g: Gateway): Partial<AuditDraft> {
  if (x.target === undefined) return {};
  const exposedName = x.target.asked.slice(0, 200);
  const item = x.target.entry?.item;
  if (item === undefined) return { exposedName };
  const { upstream, kind, name, digest } = item;
  return { exposedName, item: { upstream, kind, name, digest }, ...argumentsOf(x, g) };
}

function argumentsOf(x: Exchange, g: Gateway): Partial<AuditDraft> {
  if (x.args === undefined) return {};
  const text = canonicalJson(x.args);
  const { digest, key } = g.digest(text);
  return { argumentsDigest: digest, digestKey: key, argumentsBytes: text.length };
}

function ending(x: Exchange, fact: { refusal?: Refusal; durationMs?: number }): Partial<AuditDraft> {
  return {
    ...(fact.durationMs === undefined ? {} : { durationMs: fact.durationMs, outcome: x.outcome }),
    ...(fact.refusal === undefined ? {} : { refusal: { code: fact.refusal.code, facts: fact.refusal.facts } }),
    ...(x.upstreamMs === undefined ? {} : { upstreamMs: x.upstreamMs }),
    ...(x.resultBytes === undefined ? {} : { resultBytes: x.resultBytes }),
    ...(x.findings.length === 0 ? {} : { findings: x.findings }),
  };
}

/**
 * The argument fields that policy read, by JSON pointer (RFC 6901). A condition that looked at all of the
 * arguments, or at more than a field's worth, leaves their keyed digest alone: evidence keeps no content.
 */
function fieldsRead(x: Exchange, g: Gateway): JsonObject {
  const fields: JsonObject = {};
  for (const pointer of x.decision?.read ?? []) {
    const value = pointer === "" ? undefined : at(x.args ?? {}, pointer);
    if (value === undefined) continue;
    const text = writeJson(value);
    fields[pointer] = text.length <= g.limits.auditFieldCharsMax ? value : { digest: g.digest(text).digest };
  }
  return fields;
}

function at(value: Json, pointer: string): Json | undefined {
  let here: Json | undefined = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    here = Array.isArray(here) ? here[Number(key)] : isJsonObject(here) ? readOwn(here, key) : undefined;
  }
  return here;
}
