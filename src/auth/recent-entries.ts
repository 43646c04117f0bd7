export interface RecentEntries<Value> {
  get(key: string): Value | undefined;
  put(key: string, value: Value): void;
  delete(key: string): void;
}

/** Keeps at most `entriesMax` values; the one used longest ago goes first. Lives are the caller's to judge. */
export function createRecentEntries<Value>(entriesMax: number): RecentEntries<Value> {
  // A Map keeps insertion order; putting an entry in again makes it the youngest.
  const entries = new Map<string, Value>();

  function put(key: string, value: Value): void {
    entries.delete(key);
    entries.set(key, value);
    for (const oldest of entries.keys()) {
      if (entries.size <= entriesMax) break;
      entries.delete(oldest);
    }
  }

  function get(key: string): Value | undefined {
    const found = entries.get(key);
    if (found !== undefined) put(key, found);
    return found;
  }

  return {
    get,
    put,
    delete: (key) => {
      entries.delete(key);
    },
  };
}
