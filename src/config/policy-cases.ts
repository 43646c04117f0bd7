import { existsSync } from "node:fs";

/** The file of cases that belongs to a file of policy: `support.cases.yaml` beside `support.yaml`. */
function casesFileOf(policyFile: string): string {
  return policyFile.replace(/\.(ya?ml)$/iu, ".cases.$1");
}

/** Which of these policy files have cases beside them. */
export function casesBeside(policyFiles: readonly string[]): {
  readonly found: readonly string[];
  readonly without: readonly string[];
} {
  const found = policyFiles.map(casesFileOf).filter((file) => existsSync(file));
  return { found, without: policyFiles.filter((file) => !found.includes(casesFileOf(file))) };
}
