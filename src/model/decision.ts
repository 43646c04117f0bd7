/** What policy says of one principal, one item and (perhaps unknown) arguments. */
export type Decision =
  | { readonly effect: "allow"; readonly rule: string; readonly read: readonly string[] }
  | {
      readonly effect: "step-up";
      readonly rule: string;
      readonly scopes: readonly string[];
      readonly missing: readonly string[];
      readonly read: readonly string[];
    }
  | {
      readonly effect: "deny";
      /** The rule that denied; absent when nothing allowed (default deny). */
      readonly rule?: string;
      /**
       * Why, from a closed vocabulary: `denied-by-rule`, `no-rule-allows`, `condition-false`, `condition-error`,
       * `outside-token` (the token is bound to other items).
       */
      readonly reason: "denied-by-rule" | "no-rule-allows" | "condition-false" | "condition-error" | "outside-token";
      readonly message?: string;
      readonly read: readonly string[];
    };

/** An item is listed when it is not surely denied with the arguments unknown (design, decision 3). */
export type Listing = "listed" | "hidden";
