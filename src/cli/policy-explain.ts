import { findByRef } from "../audit/find.ts";
import { systemCode } from "../config/system-code.ts";
import { readOwnString, type JsonObject } from "../model/json.ts";
import type { Principal } from "../model/principal.ts";
import type { Knowledge } from "../policy/appraise.ts";
import { explain, type ExplainQuestion } from "../policy/explain.ts";
import { momentIn, readArguments } from "../policy/read-cases.ts";
import { readPrincipal } from "../policy/read-principal.ts";
import { subjectKinds } from "../policy/language.ts";
import type { Subject } from "../policy/question.ts";
import { configuredLines } from "./evidence-lines.ts";
import { explanationLines } from "./explanation-lines.ts";
import { jsonOut, shown, type ExitCode, type Output } from "./output.ts";
import { openPolicies, type PolicyBundle } from "./policy-bundle.ts";
import { lockedItems, withLockedDigest } from "./policy-items.ts";
import type { OrderTo, PolicyDesk } from "./policy.ts";
import { isFile, readValueFile } from "./read-value.ts";
import { itemOf, recordedDecision, recordedPrincipal } from "./recorded-decision.ts";

type Order = OrderTo<"explain">;

/**
 * `sallyport policy explain`: exit code 0 for whatever the answer is. What an event says of its request (who, where,
 * what, when) counts where the command line says nothing.
 */
export async function policyExplain(order: Order, desk: PolicyDesk): Promise<ExitCode> {
  const { config, output } = desk;
  const bundle = openPolicies(config, order.policies, output);
  if (bundle === undefined) return 1;
  const asked = await questionOf(order, desk, bundle);
  if (asked === undefined) return 1;
  const explanation = explain(bundle.policy, bundle.sources, asked.question, asked.knowledge);
  if (order.json) {
    const presets = Object.fromEntries(explanation.shaping.presets);
    output.out(jsonOut({ ...explanation, shaping: { ...explanation.shaping, presets } }));
  } else for (const line of explanationLines(explanation)) output.out(shown(line));
  return 0;
}

interface Asked {
  readonly question: ExplainQuestion;
  readonly knowledge: Knowledge;
}

async function questionOf(order: Order, desk: PolicyDesk, bundle: PolicyBundle): Promise<Asked | undefined> {
  const { output } = desk;
  const event = isFile(order.principal) ? undefined : await eventOf(order.principal, desk);
  if (event === null) return undefined;
  const principal =
    event === undefined
      ? readValueFile(order.principal, (place, value) => readPrincipal(place, value, bundle.names), output)
      : principalIn(event, order, { bundle, output });
  const server = serverOf(order, desk, event);
  if (principal === undefined || server === undefined) return undefined;
  const item = itemAsked(order, desk, { bundle, server, event });
  const now = momentOf(order.at ?? (event === undefined ? undefined : readOwnString(event, "at")), desk);
  if (item === null || now === undefined) return undefined;
  const request = { now, transport: "http", era: "modern", revision: "2026-07-28" } as const;
  const question = { principal, server, item, args: undefined, request };
  return order.args === undefined ? withRecorded(question, event, bundle) : withFile(question, order.args, output);
}

function principalIn(
  event: JsonObject,
  { principal: ref }: Order,
  { bundle, output }: { readonly bundle: PolicyBundle; readonly output: Output },
): Principal | undefined {
  const principal = recordedPrincipal(event, bundle.recordNames);
  if (principal === undefined) output.err(shown(`${ref} names nobody of a configured issuer.`));
  return principal;
}

function withFile(question: ExplainQuestion, file: string, output: Output): Asked | undefined {
  const args = readValueFile(file, readArguments, output);
  return args === undefined ? undefined : { question: { ...question, args }, knowledge: {} };
}

function withRecorded(question: ExplainQuestion, event: JsonObject | undefined, bundle: PolicyBundle): Asked {
  const recorded = event === undefined ? undefined : recordedDecision(event, bundle.recordNames);
  if (recorded === undefined) return { question, knowledge: {} };
  return { question: { ...question, args: recorded.question.args }, knowledge: recorded.knowledge };
}

/** The last event that carries the reference, which is the outcome; null, once said, where there is none. */
async function eventOf(ref: string, { config, output }: PolicyDesk): Promise<JsonObject | null> {
  const lines = configuredLines(config);
  if (lines === undefined) {
    output.err(shown(`${ref} is no file, and this configuration keeps no events.`));
    return null;
  }
  try {
    const event = (await findByRef(lines, ref)).findLast((one) => one["principal"] !== undefined);
    if (event === undefined) output.err(shown(`${ref} is no file, and no event of anybody carries it as a reference.`));
    return event ?? null;
  } catch (error) {
    output.err(shown(`${ref} is no file, and the events cannot be read (${systemCode(error)}).`));
    return null;
  }
}

function serverOf(
  { server }: Order,
  { config, output }: PolicyDesk,
  event: JsonObject | undefined,
): string | undefined {
  const named = server ?? (event === undefined ? undefined : readOwnString(event, "server"));
  const known = Object.keys(config.servers);
  if (named !== undefined && known.includes(named)) return named;
  output.err(shown(`--server takes one of ${known.join(", ")}${named === undefined ? "" : `, and not ${named}`}.`));
  return undefined;
}

function momentOf(text: string | undefined, { output, now }: PolicyDesk): number | undefined {
  if (text === undefined) return now();
  const at = momentIn(text);
  if (at !== undefined) return at;
  output.err("--at takes a time with its zone, as 2026-01-07T12:00:00Z.");
  return undefined;
}

/** Undefined: no item is asked about. Null: nobody knows which, which is said. */
function itemAsked(
  { item, upstream }: Order,
  { config, output, shownItems }: PolicyDesk,
  { bundle, server, event }: { bundle: PolicyBundle; server: string; event: JsonObject | undefined },
): Subject | undefined | null {
  if (item === undefined) return event === undefined ? undefined : itemOf(event);
  const { lock } = bundle;
  if (upstream !== undefined) {
    const identity = identityOf(item, upstream, { config, output });
    return identity === null ? null : withLockedDigest(lock, identity);
  }
  const found =
    lock === undefined ? [] : shownItems(server, lockedItems(lock)).filter(({ exposed }) => exposed === item);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only.item;
  output.err(
    shown(
      `${item} is ${found.length === 0 ? "no item" : "more than one item"} of ${server} in the catalog lock: say --upstream NAME --item KIND:NAME.`,
    ),
  );
  return null;
}

function identityOf(
  item: string,
  upstream: string,
  { config, output }: Pick<PolicyDesk, "config" | "output">,
): Subject | null {
  const [, written = "", name = ""] = /^([a-zA-Z]+):(.+)$/su.exec(item) ?? [];
  const kind = subjectKinds.find((one) => one === written);
  const known = Object.keys(config.upstreams);
  if (kind !== undefined && known.includes(upstream)) return { upstream, kind, name };
  const expected =
    kind === undefined
      ? `--item takes KIND:NAME, with a kind of ${subjectKinds.join(", ")}`
      : `--upstream takes one of ${known.join(", ")}`;
  output.err(shown(`${expected}.`));
  return null;
}
