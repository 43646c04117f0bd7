/** A number no double holds exactly. It keeps the digits it arrived with and is written back with them. */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * A JSON value as the strict parser yields it. Objects are plain; read only their own properties
 * (`readOwn`): a key such as `constructor` is data here. `__proto__` never occurs.
 */
export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** The own property `key` of `value` when `value` is an object that has it, else undefined. */
export function readOwn(value: Json | undefined, key: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function readOwnString(value: Json | undefined, key: string): string | undefined {
  const found = readOwn(value, key);
  return typeof found === "string" ? found : undefined;
}
