import { describe, expect, it } from "vitest";
import { newReadNotes, noteRead, readPointers } from "../../src/policy/read-notes.ts";

/** How many places are noted before the objects around them are. */
const placesMax = 64;

function notesOf(fields: number): ReturnType<typeof newReadNotes> {
  const notes = newReadNotes();
  for (let at = 0; at < fields; at += 1) noteRead(notes, "/o", { key: `f${at}`, whole: true });
  return notes;
}

describe("what conditions read", () => {
  it("is noted field by field up to a bound, and beyond it as the object around", () => {
    expect(readPointers(notesOf(placesMax))).toHaveLength(placesMax);
    expect(readPointers(notesOf(placesMax + 1))).toEqual(["/o"]);
  });

  it("needs no more room when it is read again", () => {
    const notes = notesOf(placesMax);
    for (let at = 0; at < placesMax; at += 1) noteRead(notes, "/o", { key: `f${at}`, whole: true });
    expect(readPointers(notes)).toHaveLength(placesMax);
  });

  it.each([
    ["a", "/a"],
    ["a/b", "/a~1b"],
    ["~1", "/~01"],
    ["", "/"],
  ])("names the field %j by the pointer %s (RFC 6901 §3)", (key, pointer) => {
    const notes = newReadNotes();
    noteRead(notes, "", { key, whole: true });
    expect(readPointers(notes)).toEqual([pointer]);
  });
});
