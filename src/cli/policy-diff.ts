import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { PossibleOutcome } from "../policy/appraise.ts";
import { replay, replayBoth, type Replayed, type ReplayedChange, type RecordedDecision } from "../policy/replay.ts";
import { jsonOut, shown, type ExitCode, type Output } from "./output.ts";
import { openPolicies, type PolicyBundle } from "./policy-bundle.ts";
import type { OrderTo, PolicyDesk } from "./policy.ts";
import { recordedDecision } from "./recorded-decision.ts";
import { eachEvent } from "./recorded-events.ts";

type Order = OrderTo<"diff">;

/** Decisions that come out alike: the same principal, server, item, and the same outcomes by the same rules. */
interface Group {
  readonly change: ReplayedChange;
  readonly principal: { readonly issuer: string; readonly subject: string; readonly client: string };
  readonly server: string;
  readonly item: string;
  readonly before: readonly PossibleOutcome[];
  readonly after: readonly PossibleOutcome[];
  count: number;
  /** ISO 8601, of the latest. */
  last: string;
}

type Counts = Record<ReplayedChange | "unread" | "unlisted", number>;

/**
 * `sallyport policy diff`: 0 when no recorded decision comes out differently, 1 otherwise, or when evidence or policies
 * cannot be read. What cannot be decided with what evidence holds is counted apart, and is no difference. Events that hold no
 * decision are passed over; those that hold one nobody can ask again are counted as unread.
 */
export async function policyDiff(order: Order, desk: PolicyDesk): Promise<ExitCode> {
  const { config, output } = desk;
  const after = openPolicies(config, order.after, output);
  const before = order.before === undefined ? null : openPolicies(config, order.before, output);
  if (after === undefined || before === undefined) return 1;
  const groups = new Map<string, Group>();
  const counts: Counts = { same: 0, gain: 0, lose: 0, changed: 0, undecidable: 0, unread: 0, unlisted: 0 };
  const isRead = await eachEvent(order.from, desk, (event) => {
    const replayed = replayedUnder(event, { before, after });
    if (replayed === undefined) return;
    counts[replayed === "unread" ? "unread" : replayed.change] += 1;
    if (replayed !== "unread" && replayed.change !== "same") counts.unlisted += add(groups, event, replayed);
  });
  if (!isRead) return 1;
  const told = [...groups.values()].sort(
    (one, other) => rank(one.change) - rank(other.change) || other.count - one.count,
  );
  if (order.json) output.out(jsonOut({ counts, groups: told }));
  else report(told, counts, output);
  return counts.gain + counts.lose + counts.changed > 0 ? 1 : 0;
}

interface Both {
  /** Null: what was decided when it was recorded counts. */
  readonly before: PolicyBundle | null;
  readonly after: PolicyBundle;
}

type ReplayedEvent = Replayed & { readonly recorded: RecordedDecision };

function replayedUnder(event: JsonObject, { before, after }: Both): ReplayedEvent | "unread" | undefined {
  const recorded = recordedDecision(event, after.recordNames);
  const earlier = before === null ? undefined : recordedDecision(event, before.recordNames);
  if (recorded === undefined)
    return Object.hasOwn(event, "decision") && event["type"] !== "attempted" ? "unread" : undefined;
  const replayed =
    before === null || earlier === undefined
      ? replay(recorded, after.policy)
      : replayBoth({ policy: before.policy, recorded: earlier }, { policy: after.policy, recorded });
  return { ...replayed, recorded };
}

/** 1 where the decision found no place any more, else 0. */
function add(groups: Map<string, Group>, event: JsonObject, replayed: ReplayedEvent): 0 | 1 {
  const { change, before, after, recorded } = replayed;
  const { principal, server, item } = recorded.question;
  const who = { issuer: principal.issuer, subject: principal.subject, client: principal.clientId };
  const what = item === undefined ? "the server itself" : `${item.kind} ${item.name} of ${item.upstream}`;
  const key = JSON.stringify([change, who, server, what, before, after]);
  const last = typeof event["at"] === "string" ? event["at"] : "";
  const known = groups.get(key);
  if (known !== undefined) {
    known.count += 1;
    if (known.last < last) known.last = last;
    return 0;
  }
  if (groups.size >= limits.policyDiffGroupsMax) return 1;
  groups.set(key, { change, principal: who, server, item: what, before, after, count: 1, last });
  return 0;
}

const order: readonly ReplayedChange[] = ["gain", "lose", "changed", "undecidable", "same"];

function rank(change: ReplayedChange): number {
  return order.indexOf(change);
}

const titles: Readonly<Record<ReplayedChange, string>> = {
  gain: "Gained",
  lose: "Lost",
  changed: "Changed",
  undecidable: "Undecidable with what evidence holds",
  same: "Same",
};

function report(groups: readonly Group[], counts: Counts, output: Output): void {
  for (const change of order) {
    const own = groups.filter((group) => group.change === change);
    if (own.length > 0) output.out(`${titles[change]}:`);
    for (const group of own) output.out(shown(`  ${lineOf(group)}`));
  }
  const { same, gain, lose, changed, undecidable, unread, unlisted } = counts;
  if (unlisted > 0) output.out(`${unlisted} more are not listed`);
  output.out(
    `${gain} gained, ${lose} lost, ${changed} changed, ${same} the same, ${undecidable} undecidable, ${unread} not read`,
  );
}

function lineOf({ principal, server, item, before, after, count, last }: Group): string {
  const client = principal.client === "" ? "" : ` through ${principal.client}`;
  const who = `${principal.subject} of ${principal.issuer}${client}`;
  return `${who}: ${item} at ${server}: ${outcomesText(before)} -> ${outcomesText(after)} (${count} times, last ${last})`;
}

function outcomesText(outcomes: readonly PossibleOutcome[]): string {
  return outcomes
    .map(({ effect, rule }) => (rule === undefined || rule === "" ? effect : `${effect} by ${rule}`))
    .join(" or ");
}
