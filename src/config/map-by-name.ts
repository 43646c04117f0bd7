import type { ByName } from "./types.ts";

/** The same keys with other values, in an object without a prototype: `constructor` is a name like any other. */
export function mapByName<T, U>(from: Readonly<Record<string, T>>, change: (value: T, name: string) => U): ByName<U> {
  const mapped: Record<string, U> = {};
  Object.setPrototypeOf(mapped, null);
  for (const [name, value] of Object.entries(from)) mapped[name] = change(value, name);
  return mapped;
}
