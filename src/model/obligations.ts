import type { Json } from "./json.ts";

/**
 * What policy's `constrain` rules lay upon the use of an item, beside whether it is allowed. All rules that match
 * apply together and the tightest wins, so that adding one never widens.
 */
export interface Obligations {
  /** Ids of the rules that apply, in the order of their ids. */
  readonly rules: readonly string[];
  /** Of all rules that apply, in the order of their ids and as each rule lists them. Every one of them must hold. */
  readonly limits: readonly LimitObligation[];
  /** Undefined: the gateway's own bound alone. */
  readonly resultBytesMax: number | undefined;
  /** Undefined: the upstream's or the item's configured deadline alone. */
  readonly deadlineMs: number | undefined;
  /** No record, no forward, also where the gateway's audit mode is best-effort. */
  readonly auditRequired: boolean;
  /**
   * JSON pointers (RFC 6901) of arguments that evidence keeps beside those that the decision read: those that rules
   * name, and those that the conditions of `constrain` rules read, also where none then applied. Sorted. A pointer may
   * name nothing.
   */
  readonly replayFields: readonly string[];
}

/** Whose use is counted together. An empty list is refused when a policy loads. */
export type LimitScope = "principal" | "client" | "item" | "server";

/** One limit. The rule's id and `at` name its counter, so that two limits never share one. */
export type LimitObligation = {
  readonly rule: string;
  /** Position among the limits of its rule, from 0. */
  readonly at: number;
  /** Without doubles, in the order of `LimitScope`'s members. */
  readonly per: readonly LimitScope[];
  /** The rule's text for the caller who is limited. */
  readonly message?: string;
} & LimitMeasure;

/** How uses are counted. */
export type LimitMeasure =
  | {
      /** A bucket of `burst` uses, full at first, into which `count` come back in every `perMs`, one by one. */
      readonly kind: "rate";
      readonly count: number;
      readonly perMs: number;
      /** At least 1. */
      readonly burst: number;
    }
  /** So many uses in one day, which begins at midnight UTC. */
  | { readonly kind: "quota"; readonly count: number }
  /** So many uses under way at once. */
  | { readonly kind: "concurrency"; readonly count: number };

/**
 * What `constrain` rules do to an item's shape for one principal: chosen by who and what alone, as the shape is shown
 * before any arguments are known.
 */
export interface Shaping {
  /** Ids of the rules that apply, in the order of their ids. */
  readonly rules: readonly string[];
  /**
   * Values by the name of the top-level argument: it is not shown, filled in, and refused when sent. Values are frozen.
   * Two rules that apply together never name two values: such a policy does not load.
   */
  readonly presets: ReadonlyMap<string, Json>;
  /**
   * What becomes of top-level arguments that the schema does not name; `reject` is tighter than `strip`, and `strip`
   * than `pass`. Undefined: what the schema itself says. `pass` says the same aloud: it never lets through what the
   * schema forbids.
   */
  readonly unknownArguments: "reject" | "strip" | "pass" | undefined;
  /**
   * JSON pointers into a structured result whose segments may be `*`, any key or position; what they name is not
   * delivered. Sorted; none is the empty pointer.
   */
  readonly removeFields: readonly string[];
}
