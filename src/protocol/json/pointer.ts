/** Segments of a JSON pointer (RFC 6901 §4), unescaped; none for the empty one. */
export function pointerSegments(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
