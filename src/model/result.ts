import type { Refusal } from "./refusal.ts";

export interface Ok<T> {
  readonly ok: true;
  readonly value: T;
}

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

/** Refusal is an ordinary result; `throw` means our own bug or a broken dependency. */
export type Result<T> = Ok<T> | Refused;

export function ok<T>(value: T): Ok<T> {
  return { ok: true, value };
}
