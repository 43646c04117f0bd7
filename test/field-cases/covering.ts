import { readFileSync } from "node:fs";

/** A test by its file below `test/`, and its title, or the name of one of its rows, as the source has it. */
export type Cover = readonly [file: string, title: string];

export interface Case {
  /** The name of the case in the collection of faults that gateways have had in the field. */
  readonly id: string;
  readonly covers: readonly Cover[];
}

const root = new URL("../", import.meta.url);

export function sourceOf(file: string): string {
  return readFileSync(new URL(file, root), "utf8");
}

/** How the test is begun: `it`, `it.each`, `it.fails.each` and the like; undefined when there is none of this title. */
function beginningOf(source: string, title: string): string | undefined {
  const at = source.indexOf(title);
  if (at === -1) return undefined;
  return [...source.slice(0, at).matchAll(/\b(?:it|test|describe)(?:\.\w+)*(?=[(<])/g)].at(-1)?.[0];
}

/** What is wrong with what covers something: tests that are not there, or that are not expected to pass. */
export function faultsOf(covers: readonly Cover[]): readonly string[] {
  if (covers.length === 0) return ["nothing covers it"];
  return covers.flatMap(([file, title]) => {
    const beginning = beginningOf(sourceOf(file), title);
    if (beginning === undefined) return [`${file} has no test "${title}"`];
    return /fails|skip|todo|only/.test(beginning) ? [`${file} does not expect "${title}" to pass`] : [];
  });
}
