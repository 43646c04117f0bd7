import { inspect } from "node:util";

/** What stands wherever a secret would be printed. */
export const secretMask = "•••";

/**
 * A secret that configuration named and that was read from the environment or a file. It prints as
 * `•••` through JSON, string conversion and `util.inspect`, so that logging a configuration leaks
 * nothing. This does not erase the value from memory: JavaScript strings cannot be overwritten.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The secret itself. Call this where it is used, and keep the result out of longer-lived objects. */
  reveal(): string {
    return this.#value;
  }

  toJSON(): string {
    return secretMask;
  }

  toString(): string {
    return secretMask;
  }
}

/** Outside the class, because isolated declarations cannot express a computed member. */
Object.defineProperty(Secret.prototype, inspect.custom, { value: (): string => secretMask });
