import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../model/json.ts";

/** Audit events in words, oldest first as they were found: an event a paragraph. */
export function tellStory(events: readonly JsonObject[]): string[] {
  return events.flatMap((event) => [
    `${text(event, "at")}  ${sentenceOf(event)}`,
    ...details(event).map((line) => `    ${line}`),
  ]);
}

function sentenceOf(event: JsonObject): string {
  const parts = [whoOf(event), happened(text(event, "type")), whatOf(event), whereOf(event)];
  return `${parts.filter((part) => part !== "").join(" ")}.`;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["listed", "was shown"],
  ["denied", "was denied"],
  ["attempted", "had forwarded"],
  ["returned", "got the result of"],
  ["failed", "got an error from"],
  ["refused", "was refused"],
  ["unknown", "got no certain outcome of"],
  ["session", "opened or ended a session for"],
  ["asked", "was to be asked for input during"],
  ["noticed", "noticed something in"],
  ["drifted", "found a definition that nobody approved:"],
  ["strangers", "were refused before anybody was known"],
  ["administration", "was told by the gateway itself"],
  ["credential", "noted what became of a connection"],
]);

function happened(type: string): string {
  return verbs.get(type) ?? type;
}

/** Who acts in events without a principal. */
const nobodys: ReadonlyMap<string, string> = new Map([
  ["strangers", "Strangers"],
  ["noticed", "The gateway"],
  ["drifted", "The gateway"],
  ["administration", "The operator"],
  ["credential", "The gateway"],
]);

function whoOf(event: JsonObject): string {
  const principal = readOwn(event, "principal");
  if (!isJsonObject(principal)) return nobodys.get(text(event, "type")) ?? "Somebody unknown";
  const client = text(principal, "clientId");
  return `${text(principal, "subject")} of ${text(principal, "issuer")}${client === "" ? "" : ` through ${client}`}`;
}

function whatOf(event: JsonObject): string {
  const item = readOwn(event, "item");
  const exposed = readOwnString(event, "exposedName");
  const named = exposed === undefined ? "" : `${exposed} `;
  if (!isJsonObject(item)) return `${named}${readOwnString(event, "method") ?? ""}`.trim();
  return `${named}(${text(item, "kind")} ${text(item, "name")} of ${text(item, "upstream")})`;
}

function whereOf(event: JsonObject): string {
  const server = readOwnString(event, "server");
  const presentation = readOwnString(event, "presentation");
  const shown = presentation === undefined ? "" : `, shown as ${presentation}`;
  return server === undefined ? "" : `at ${server}${shown}`;
}

function details(event: JsonObject): string[] {
  const lines = [
    decisionOf(readOwn(event, "decision")),
    constrainedOf(readOwn(event, "constrained")),
    shadowOf(readOwn(event, "shadow")),
    readOf(readOwn(event, "read")),
    standingOf(event),
    refusalOf(readOwn(event, "refusal")),
    listedOf(readOwn(event, "listed")),
    askedOf(readOwn(event, "asked")),
    driftOf(readOwn(event, "drift")),
    strangersOf(readOwn(event, "strangers")),
    lossOf(readOwn(event, "loss")),
    accessOf(readOwn(event, "access")),
    tokenOf(readOwn(event, "token")),
    grantOf(readOwn(event, "grant")),
    quarantineOf(readOwn(event, "quarantine")),
    bundleOf(readOwn(event, "bundle")),
    timesOf(event),
    ...findingsOf(readOwn(event, "findings")),
  ];
  return lines.filter((line) => line !== "");
}

function decisionOf(decision: Json | undefined): string {
  if (!isJsonObject(decision)) return "";
  // What concerns no item is allowed by no rule in particular.
  const rule = text(decision, "rule");
  const by = rule === "" ? "" : ` (rule ${rule})`;
  switch (text(decision, "effect")) {
    case "allow":
      return `Policy allows it${by}.`;
    case "step-up":
      return `Policy allows it${by} once the token also holds ${listOf(readOwn(decision, "missing"))}.`;
    default:
      return `Policy denies it${by}: ${reasonOf(decision)}`;
  }
}

/** Rules that bind a use that is allowed, or change the shape of its item. */
function constrainedOf(constrained: Json | undefined): string {
  const rules = listOf(constrained);
  return rules === "" ? "" : `It was constrained by ${rules}.`;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["denied-by-rule", "this rule denies, whatever else allows."],
  ["outside-token", "the token is bound to other items."],
  ["no-rule-allows", "no rule allows it to this principal."],
  ["condition-false", "the condition of every rule that would allow it is false for these arguments."],
  ["condition-error", "a condition could not be evaluated for these arguments, and an error never permits."],
]);

function reasonOf(decision: JsonObject): string {
  const message = readOwnString(decision, "message");
  const reason = reasons.get(text(decision, "reason")) ?? text(decision, "reason");
  return message === undefined ? reason : `${reason} The caller was told: ${message}`;
}

/** The argument fields that policy read, by JSON pointer. */
function readOf(read: Json | undefined): string {
  if (!isJsonObject(read)) return "";
  const fields = Object.entries(read).map(([pointer, value]) => `${pointer} = ${JSON.stringify(value)}`);
  return fields.length === 0 ? "" : `It looked at ${fields.join(", ")}.`;
}

/** What a denial was judged by: whoever asks why somebody may not needs to see what the token said of them. */
function standingOf(event: JsonObject): string {
  const principal = readOwn(event, "principal");
  if (text(event, "type") !== "denied" || !isJsonObject(principal)) return "";
  const groups = listOf(readOwn(principal, "groups")) || "none";
  const scopes = listOf(readOwn(principal, "scopes")) || "none";
  return `The caller is a ${text(principal, "kind")} with the groups: ${groups}; and the scopes: ${scopes}.`;
}

function refusalOf(refusal: Json | undefined): string {
  if (!isJsonObject(refusal)) return "";
  const facts = readOwn(refusal, "facts");
  const told = isJsonObject(facts)
    ? Object.entries(facts).map(([name, fact]) => `${name}=${JSON.stringify(fact)}`)
    : [];
  const code = text(refusal, "code");
  return `Refused as ${code}${told.length === 0 ? "" : ` (${told.join(", ")})`}: see docs/refusals.md#${code.toLowerCase()}.`;
}

function listedOf(listed: Json | undefined): string {
  if (!isJsonObject(listed)) return "";
  return `${numberOf(listed, "shown")} of ${numberOf(listed, "known")} items were shown.`;
}

/** How a request of an upstream to the client ended, in words (see `AskedOutcome`). */
const askedEndings: ReadonlyMap<string, string> = new Map([
  ["denied", "policy did not let it ask"],
  ["unsupported", "the client had not said that it can do that"],
  ["malformed", "the request had no shape that can be shown"],
  ["undeliverable", "there was no way to the client"],
  ["answered", "the client answered"],
  ["accepted", "the person accepted"],
  ["declined", "the person declined"],
  ["cancelled", "the person closed it without an answer"],
  ["failed", "the client answered with an error"],
  ["unfit", "the client answered something else"],
  ["timed-out", "nobody answered in time"],
  ["withdrawn", "nobody waited any more"],
  ["offered", "the client was told, and may come back with the answer"],
]);

function askedOf(asked: Json | undefined): string {
  if (!isJsonObject(asked)) return "";
  const outcome = text(asked, "outcome");
  const by = text(asked, "by") === "" ? "" : `The ${text(asked, "by")} for `;
  return `${by}${text(asked, "upstream")} asked for ${text(asked, "feature")}: ${askedEndings.get(outcome) ?? outcome}.`;
}

function driftOf(drift: Json | undefined): string {
  if (!isJsonObject(drift)) return "";
  const of =
    text(drift, "kind") === "instructions" ? `The instructions of ${text(drift, "upstream")}` : "Its definition";
  const approved = listOf(readOwn(drift, "approved")) || "none";
  const done = text(drift, "mode") === "enforce" ? "withheld" : "served, since the lock is observed alone";
  return `${of} (${text(drift, "reason")}, ${text(drift, "found")}): ${done}. Approved: ${approved}.`;
}

function strangersOf(strangers: Json | undefined): string {
  if (!isJsonObject(strangers)) return "";
  return `${numberOf(strangers, "count")} such requests from ${text(strangers, "addressPrefix")} within a minute.`;
}

function lossOf(loss: Json | undefined): string {
  if (!isJsonObject(loss)) return "";
  return `The sink ${text(loss, "sink")} missed ${numberOf(loss, "count")} events.`;
}

function accessOf(access: Json | undefined): string {
  if (!isJsonObject(access)) return "";
  const now = text(access, "did") === "denied" ? "let in no more" : "let in again";
  return `By command ${text(access, "subject")} of ${text(access, "issuer")} is ${now}.`;
}

function tokenOf(token: Json | undefined): string {
  if (!isJsonObject(token)) return "";
  return `By command the headless token ${text(token, "id")} of service ${text(token, "service")} was ${text(token, "did")}.`;
}

/** What became of somebody's grant at an upstream. */
const grantEnds: ReadonlyMap<string, string> = new Map([
  ["connected", "was connected"],
  ["opened", "was opened to one more client"],
  ["revoked", "was revoked"],
  ["lost", "was lost"],
  ["assigned", "was assigned to them"],
]);

function grantOf(grant: Json | undefined): string {
  if (!isJsonObject(grant)) return "";
  const [did, client, reason] = [text(grant, "did"), text(grant, "clientId"), text(grant, "reason")];
  const whose = `The grant of ${text(grant, "subject")} of ${text(grant, "issuer")} at ${text(grant, "upstream")}`;
  const more = `${client === "" ? "" : ` for ${client}`}${reason === "" ? "" : ` (${reason})`}`;
  const scopes = listOf(readOwn(grant, "scopes")) || "none";
  return `${whose} ${grantEnds.get(did) ?? did}${more}; server: ${text(grant, "server")}, scopes: ${scopes}.`;
}

function quarantineOf(quarantine: Json | undefined): string {
  if (!isJsonObject(quarantine)) return "";
  const found = listOf(readOwn(quarantine, "found"));
  return `${text(quarantine, "upstream")} names ${found} in place of ${text(quarantine, "known")}, and nobody is sent there.`;
}

function timesOf(event: JsonObject): string {
  const whole = readOwn(event, "durationMs");
  if (typeof whole !== "number") return "";
  const upstream = readOwn(event, "upstreamMs");
  return `It took ${whole} ms${typeof upstream === "number" ? `, of which the upstream ${upstream} ms` : ""}.`;
}

function findingsOf(findings: Json | undefined): string[] {
  if (!Array.isArray(findings)) return [];
  return findings.map((finding) => {
    const detail = text(finding, "detail");
    const found = `Found ${text(finding, "kind")} at ${text(finding, "where") || "the root"}`;
    return detail === "" ? `${found}.` : `${found}: ${detail}`;
  });
}

function listOf(value: Json | undefined): string {
  return Array.isArray(value) ? value.filter((part) => typeof part === "string").join(", ") : "";
}

function text(value: Json | undefined, key: string): string {
  return readOwnString(value, key) ?? "";
}

function numberOf(value: JsonObject, key: string): string {
  const number = readOwn(value, key);
  return typeof number === "number" ? String(number) : "?";
}

function bundleOf(bundle: Json | undefined): string {
  if (!isJsonObject(bundle)) return "";
  const faults = numberOf(bundle, "faults");
  switch (text(bundle, "did")) {
    case "replaced":
      return "Policies and lock were put in force.";
    case "restored":
      return `The files had ${faults} faults at the start, so what was in force before serves.`;
    default:
      return `The files had ${faults} faults, so what was in force stayed.`;
  }
}

function shadowOf(shadow: Json | undefined): string {
  if (!isJsonObject(shadow)) return "";
  if (readOwn(shadow, "gained") !== undefined)
    return `Policies that are tried out would show ${numberOf(shadow, "gained")} items more and ${numberOf(shadow, "lost")} less.`;
  const rule = text(shadow, "rule");
  const by = rule === "" ? "" : ` (rule ${rule})`;
  return `Policies that are tried out would ${shadowVerbs[text(shadow, "effect")] ?? "list it"}${by}.`;
}

const shadowVerbs: Readonly<Record<string, string>> = {
  allow: "allow it",
  deny: "deny it",
  "step-up": "ask for more scopes",
};
