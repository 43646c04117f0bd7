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

/** Judges as `verdictOn` does. An entry of what is not run counts against the run where the suite has no such scenario. */
export function clientVerdictOn(
  era: Era,
  scenarios: readonly Scenario[],
  { terms, requirements, alone }: ClientRun,
): Judged {
  const judged = verdictOn({ client: era, server: era }, scenarios, { alone, excepted: terms.excepted });
  const unknown = [...terms.notRun.keys()].filter((name) => !requirements.some((each) => each.name === name));
  const named = requirements.filter(({ name, required }) => required && terms.notRun.has(name));
  return {
    ...judged,
    lines: [
      ...judged.lines,
      ...unknown.map((name) => `  FAIL ${name} is named as not run, and there is no such scenario`),
      ...(named.length > 0 ? [`  ${named.length} required ones not run, named in docs/compatibility.md`] : []),
    ],
    good: judged.good && unknown.length === 0,
  };
}

export function clientTitle({ cell }: Judged): string {
  return `client ${revisionOf[cell.client]}`;
}

/** N of M, M being what was run of what the revision requires of clients. */
export function clientLastLine({ cell, passed, required }: Judged): string {
  return `conformance client: ${revisionOf[cell.client]} ${passed}/${required}`;
}
