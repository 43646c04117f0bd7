/** What became of a call. `unknown`: it may or may not have been executed, and nobody can tell. */
export type Outcome = "returned" | "failed" | "refused" | "unknown";
