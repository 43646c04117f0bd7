/** The members of a list that we wrote and that came back authentic; none for anything else. */
export function readList(text: string): readonly unknown[] {
  const written: unknown = JSON.parse(text);
  const members: unknown[] = Array.isArray(written) ? written : [];
  return members;
}

/** Those of the members that are text, in their order. */
export function textsOf(members: readonly unknown[]): readonly string[] {
  return members.filter((member) => typeof member === "string");
}
