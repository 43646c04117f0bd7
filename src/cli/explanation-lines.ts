import type { Decision } from "../model/decision.ts";
import type { LimitObligation, Obligations, Shaping } from "../model/obligations.ts";
import type { PossibleOutcome } from "../policy/appraise.ts";
import type { Explanation, RuleAccount, Standing } from "../policy/explain.ts";
import type { Mismatch } from "../policy/rule-account.ts";

/** An explanation in words: what was decided, whether it is listed, and then a rule a paragraph. */
export function explanationLines(explanation: Explanation): readonly string[] {
  const { decision, listed, possible, rules, obligations, shaping } = explanation;
  return [
    decisionLine(decision),
    ...knownLine(decision, possible),
    ...(possible.length > 1
      ? [`Depending on what is not known it may be: ${possible.map(possibleText).join("; ")}.`]
      : []),
    ...(listed === undefined
      ? []
      : [listed === "listed" ? "It is listed." : "It is not listed, and is answered like what does not exist."]),
    ...(rules.length === 0 ? [] : ["Rules:"]),
    ...rules.flatMap(accountLines),
    ...obligationLines(obligations),
    ...shapingLines(shaping),
  ];
}

function decisionLine(decision: Decision): string {
  switch (decision.effect) {
    case "allow":
      return decision.rule === "" ? "allow: no rule denies it" : `allow by ${decision.rule}`;
    case "step-up":
      return `step-up by ${decision.rule}: missing ${decision.missing.join(" ")}`;
    case "deny":
      return [
        `deny${decision.rule === undefined ? "" : ` by ${decision.rule}`}: ${decision.reason}`,
        decision.message === undefined ? "" : ` (the caller is told: ${decision.message})`,
      ].join("");
  }
}

/** What is known may settle what the decision, which knows no arguments, calls an error. */
function knownLine(decision: Decision, possible: readonly PossibleOutcome[]): readonly string[] {
  const [only, ...others] = possible;
  if (only === undefined || others.length > 0 || only.effect === decision.effect) return [];
  return [`With what is recorded of the arguments it is: ${possibleText(only)}.`];
}

function possibleText({ effect, rule, missing }: PossibleOutcome): string {
  const by = rule === undefined ? "" : ` by ${rule}`;
  return missing.length === 0 ? `${effect}${by}` : `${effect}${by} (missing ${missing.join(" ")})`;
}

function accountLines({ id, effect, path, when, standing }: RuleAccount): readonly string[] {
  const isAboutCondition = standing.is.startsWith("condition-");
  return [
    `  ${id} (${effect}, ${path}): ${standingText(standing)}`,
    ...(isAboutCondition && when !== undefined ? [`    when: ${when}`] : []),
    ...(standing.is === "elsewhere" ? standing.mismatches.map((one) => `    ${mismatchText(one)}`) : []),
  ];
}

function standingText(standing: Standing): string {
  switch (standing.is) {
    case "decides":
      return "it decides";
    case "holds":
      return "it applies";
    case "condition-false":
      return "its condition is false";
    case "condition-error":
      return `its condition errs: ${standing.because}`;
    case "condition-unknown":
      return `its condition is unknown: ${standing.because}`;
    case "scopes-missing":
      return `it lacks the scopes ${standing.missing.join(" ")}`;
    case "elsewhere":
      return "it is about something else";
  }
}

function mismatchText({ part, field, wanted, found }: Mismatch): string {
  const has = found === undefined ? "nothing" : JSON.stringify(found);
  return `${part} ${field}: wants ${JSON.stringify(wanted)}, found ${has}`;
}

function obligationLines({
  limits,
  resultBytesMax,
  deadlineMs,
  auditRequired,
  replayFields,
}: Obligations): readonly string[] {
  const lines = [
    ...limits.map((limit) => `${limitText(limit)} (${limit.rule})`),
    ...(resultBytesMax === undefined ? [] : [`results of at most ${resultBytesMax} bytes`]),
    ...(deadlineMs === undefined ? [] : [`an answer within ${deadlineMs} ms`]),
    ...(auditRequired ? ["no call without a record of it"] : []),
    ...(replayFields.length === 0 ? [] : [`evidence keeps ${replayFields.join(", ")}`]),
  ];
  return lines.length === 0 ? [] : ["Obligations:", ...lines.map((line) => `  ${line}`)];
}

function limitText(limit: LimitObligation): string {
  const per = `per ${limit.per.join(", ")}`;
  switch (limit.kind) {
    case "rate":
      return `${limit.count} uses in ${limit.perMs} ms, ${limit.burst} at once, ${per}`;
    case "quota":
      return `${limit.count} uses a day, ${per}`;
    case "concurrency":
      return `${limit.count} uses at the same time, ${per}`;
  }
}

function shapingLines({ presets, unknownArguments, removeFields }: Shaping): readonly string[] {
  const lines = [
    ...[...presets].map(([name, value]) => `${name} is always ${JSON.stringify(value)}`),
    ...(unknownArguments === undefined ? [] : [`unknown arguments: ${unknownArguments}`]),
    ...(removeFields.length === 0 ? [] : [`results without ${removeFields.join(", ")}`]),
  ];
  return lines.length === 0 ? [] : ["Shape:", ...lines.map((line) => `  ${line}`)];
}
