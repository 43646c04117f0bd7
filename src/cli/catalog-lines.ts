import type { Difference } from "../catalog/lock/difference.ts";
import type { LockedKind } from "../catalog/lock/document.ts";
import type { LockChange } from "../catalog/lock/update.ts";
import { visible } from "../catalog/lock/visible.ts";
import type { Refusal } from "../model/refusal.ts";

/** One change in words, a line each. */
export function changeLines({ kind, name, did, digest, differences }: LockChange): string[] {
  const what = [kind, visible(name)].filter((part) => part !== "").join(" ");
  return [
    `  ${what}: ${dids[did]}${digest === undefined ? "" : `  ${digest}`}`,
    ...differences.flatMap(differenceLines),
  ];
}

const dids: Readonly<Record<LockChange["did"], string>> = {
  added: "new",
  changed: "changed",
  removed: "removed",
  restored: "back, as it was before it was removed",
  returned: "back, and not as it was before it was removed",
};

function differenceLines({ at, what, effect, before, after }: Difference): string[] {
  return [
    `    ${at === "" ? "" : `${visible(at)}: `}${visible(what)}${effect === undefined ? "" : ` (${effect})`}`,
    ...(before === undefined ? [] : [`      before: ${before}`]),
    ...(after === undefined ? [] : [`      after:  ${after}`]),
  ];
}

export function leftOutLine(upstream: string, { kind, name }: { kind: LockedKind; name: string }): string {
  const called = name === "" ? "without a name" : visible(name);
  return `${upstream}: ${kind} ${called} cannot be locked: it has no name of its own, or is listed twice.`;
}

/** Why an upstream was not read. */
export function refusalText(answer: { readonly refusal: Refusal } | { readonly fault: string }): string {
  if ("fault" in answer) return answer.fault;
  const { code } = answer.refusal;
  const way =
    code === "UPSTREAM_CONNECTION_REQUIRED" ? "; only users can list it: --from-definition UPSTREAM=FILE" : "";
  return `${code}${way}`;
}
