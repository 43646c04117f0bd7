/** What stands wherever the token would be printed. */
const tokenMask = "[caller token]";

/**
 * The token that a caller came with, held closed. It stops at the gateway: the only one who opens it is token
 * exchange, which sends it to the endpoint that configuration names and to nobody else (design, decision 8).
 * It prints as a mask through JSON, string conversion and inspection. This does not erase it from memory.
 */
export class CallerToken {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The token itself, for the `subject_token` of a token exchange (RFC 8693 §2.1). */
  revealForExchange(): string {
    return this.#text;
  }

  toJSON(): string {
    return tokenMask;
  }

  toString(): string {
    return tokenMask;
  }
}

/** Outside the class, because isolated declarations cannot express a computed member. */
Object.defineProperty(CallerToken.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: (): string => tokenMask,
});
