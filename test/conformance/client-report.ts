import { verdictOn, type Judged } from "./report.ts";
import { revisionOf, type Era, type Requirement, type Scenario } from "./suite.ts";

/** What the compatibility document says of the client scenarios of one revision, with the reasons. */
export interface ClientTerms {
  /** What a gateway's upstream side has no part in. */
  readonly notRun: ReadonlyMap<string, string>;
  /** Run, and need not pass. */
  readonly excepted: ReadonlyMap<string, string>;
}

export type ClientTermsByRevision = ReadonlyMap<string, ClientTerms>;

const noTerms: ClientTerms = { notRun: new Map(), excepted: new Map() };

const itemForm = /^- `client (\d{4}-\d{2}-\d{2})` (not run|excepted): ((?:`[^`]+`(?:, )?)+)\. (.+)$/;

/** Reads the document's list items of clients; see `listItems`. One scenario stands in one item at most. */
export function readClientTerms(items: readonly string[]): ClientTermsByRevision {
  const revisions = new Map<string, { notRun: Map<string, string>; excepted: Map<string, string> }>();
  for (const item of items) {
    const [, revision, kind, names = "", reason = ""] = itemForm.exec(item) ?? [];
    if (revision === undefined) continue;
    const terms = revisions.get(revision) ?? { notRun: new Map<string, string>(), excepted: new Map<string, string>() };
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g)) {
      if (terms.notRun.has(name) || terms.excepted.has(name)) throw new Error(`${name} is named twice: ${item}`);
      terms[kind === "excepted" ? "excepted" : "notRun"].set(name, reason);
    }
    revisions.set(revision, terms);
  }
  return revisions;
}

export function termsOf(terms: ClientTermsByRevision, era: Era): ClientTerms {
  return terms.get(revisionOf[era]) ?? noTerms;
}

/** What is to be run: all that the document does not name, so that what it forgets fails or passes but is not lost. */
export function toRun(requirements: readonly Requirement[], { notRun }: ClientTerms): readonly Requirement[] {
  return requirements.filter(({ name }) => !notRun.has(name));
}

interface ClientRun {
  readonly terms: ClientTerms;
  /** All that the revision knows, whether it was run or not. */
  readonly requirements: readonly Requirement[];
  /** How the client does without the gateway, which must lose nothing of it. */
  readonly alone?: readonly Scenario[];
}

/** The verdict on a client, for which what the revision does not require of clients is counted apart. */
export interface ClientJudged extends Judged {
  /** Extensions, and what came after the revision, as far as they were run. */
  readonly besides: { readonly passed: number; readonly run: number };
}

/**
 * Judges as `verdictOn` does. What is run though no revision requires it, since the document does not name it as not
 * run, has to pass as well. An entry of what is not run counts against the run where the suite has no such scenario.
 */
export function clientVerdictOn(
  era: Era,
  scenarios: readonly Scenario[],
  { terms, requirements, alone }: ClientRun,
): ClientJudged {
  const cell = { client: era, server: era };
  const judged = verdictOn(cell, scenarios, { alone, excepted: terms.excepted });
  const more = scenarios.filter(({ required }) => !required).map((scenario) => ({ ...scenario, required: true }));
  const { passed, required: run } = verdictOn(cell, more, { alone });
  const unknown = [...terms.notRun.keys()].filter((name) => !requirements.some((each) => each.name === name));
  const named = requirements.filter(({ name, required }) => required && terms.notRun.has(name));
  return {
    ...judged,
    lines: [
      ...judged.lines,
      ...unknown.map((name) => `  FAIL ${name} is named as not run, and there is no such scenario`),
      ...(named.length > 0 ? [`  ${named.length} required ones not run, named in docs/compatibility.md`] : []),
    ],
    good: judged.good && unknown.length === 0 && passed === run,
    besides: { passed, run },
  };
}

export function clientTitle({ cell }: Judged): string {
  return `client ${revisionOf[cell.client]}`;
}

/** N of M, M being what was run of what the revision requires of clients; then the same of what it does not require. */
export function clientLastLine({ cell, passed, required, besides }: ClientJudged): string {
  const line = `conformance client: ${revisionOf[cell.client]} ${passed}/${required}`;
  return besides.run === 0 ? line : `${line}, not required ${besides.passed}/${besides.run}`;
}
