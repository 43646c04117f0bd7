import type { Config } from "../config/types.ts";
import type { Environment } from "./load-file.ts";
import type { ExitCode, Output } from "./output.ts";
import type { PolicyOrder } from "./policy-arguments.ts";
import { openConfig } from "./policy-bundle.ts";
import { policyDiff } from "./policy-diff.ts";
import { policyExplain } from "./policy-explain.ts";
import type { ShownItemsOf } from "./policy-items.ts";
import { policyLint } from "./policy-lint.ts";
import { policyMatrix } from "./policy-matrix.ts";
import { policyTest } from "./policy-test.ts";

/** What the commands need of the process and of composition, which this room does not know. */
export interface PolicyRim {
  readonly env: Environment;
  readonly output: Output;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly shownItems: (config: Config) => ShownItemsOf;
}

/** What every one of them is handed once the configuration holds. */
export interface PolicyDesk {
  readonly config: Config;
  readonly output: Output;
  readonly now: () => number;
  readonly shownItems: ShownItemsOf;
}

/** `sallyport policy`: questions about policies that need no running gateway. */
export async function policy({ order }: { readonly order: PolicyOrder }, rim: PolicyRim): Promise<ExitCode> {
  const { env, output, now } = rim;
  const config = openConfig(order.config, env, output);
  if (config === undefined) return 1;
  const desk: PolicyDesk = { config, output, now, shownItems: rim.shownItems(config) };
  switch (order.does) {
    case "explain":
      return policyExplain(order, desk);
    case "test":
      return policyTest(order, desk);
    case "lint":
      return policyLint(order, desk);
    case "matrix":
      return policyMatrix(order, desk);
    case "diff":
      return policyDiff(order, desk);
  }
}

/** One of the orders. */
export type OrderTo<Does extends PolicyOrder["does"]> = Extract<PolicyOrder, { readonly does: Does }>;
