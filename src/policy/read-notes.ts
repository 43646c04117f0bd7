/** How many places one decision may note before it notes the objects around them instead. */
const placesMax = 64;

/**
 * Which arguments conditions read, as JSON pointers (RFC 6901). A list counts as one place. An object
 * is noted only when it was looked at as a whole; otherwise the fields that were read from it are.
 */
export interface ReadNotes {
  readonly whole: Set<string>;
  readonly passed: Set<string>;
}

export function newReadNotes(): ReadNotes {
  return { whole: new Set(), passed: new Set() };
}

/** Notes that `key` of the object at `pointer` was read: all of it, or only as the way to something inside. */
export function noteRead(notes: ReadNotes, pointer: string, { key, whole }: { key: string; whole: boolean }): void {
  if (notes.whole.has(pointer)) return;
  const places = whole ? notes.whole : notes.passed;
  const place = pointerTo(pointer, key);
  // What is noted needs no more room.
  if (places.has(place)) return;
  if (places.size < placesMax) places.add(place);
  else noteWhole(notes, pointer);
}

export function noteWhole(notes: ReadNotes, pointer: string): void {
  // Twice the bound is reached only through very many objects: then all arguments count as read.
  notes.whole.add(notes.whole.size < 2 * placesMax ? pointer : "");
}

export function pointerTo(pointer: string, key: string): string {
  return `${pointer}/${isPlain(key) ? key : key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The pointers, sorted. One that others lie inside is left out unless it was read as a whole, and then they are. */
export function readPointers(notes: ReadNotes): readonly string[] {
  const whole = [...notes.whole];
  const passed = [...notes.passed].filter((pointer) => !notes.whole.has(pointer));
  const holdsMore = (pointer: string): boolean => [...whole, ...passed].some((other) => isInside(other, pointer));
  const leaves = passed.filter((pointer) => !holdsMore(pointer));
  return [...whole, ...leaves].filter((pointer) => !whole.some((outer) => isInside(pointer, outer))).sort();
}

function isInside(pointer: string, outer: string): boolean {
  return pointer.startsWith(`${outer}/`);
}

/** Nearly every key, several times a call. */
function isPlain(key: string): boolean {
  return !key.includes("~") && !key.includes("/");
}
