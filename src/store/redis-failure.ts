/** Why an operation failed; a closed list, fit for a metric's label. */
export type StoreFailure =
  | "timed-out"
  | "disconnected"
  | "read-only"
  | "full"
  | "loading"
  | "overloaded"
  | "unauthorized"
  | "rejected"
  | "answer-invalid";

/** How Redis' and ioredis' messages begin. Redis' errors start with a code in capitals. */
const beginnings: readonly (readonly [RegExp, StoreFailure])[] = [
  [/^Command timed out/u, "timed-out"],
  [/^(?:Socket timeout|connect ETIMEDOUT)/u, "timed-out"],
  [/^READONLY /u, "read-only"],
  [/^(?:OOM |MISCONF )/u, "full"],
  [/^(?:LOADING |BUSY |MASTERDOWN |CLUSTERDOWN |TRYAGAIN )/u, "loading"],
  [/^(?:NOAUTH |WRONGPASS |NOPERM )/u, "unauthorized"],
  [/^ERR max number of clients/u, "overloaded"],
  [/^[A-Z]{2,} /u, "rejected"],
];

/** Sorts a failure of ioredis into the closed list. What the error says beyond that is dropped. */
export function storeFailureOf(error: unknown): StoreFailure {
  if (!(error instanceof Error)) return "disconnected";
  const found = beginnings.find(([beginning]) => beginning.test(error.message));
  return found?.[1] ?? "disconnected";
}
