import type { LimitObligation } from "../../model/obligations.ts";
import { refuse, type Refusal, type RefusalCode } from "../../model/refusal.ts";

const codes: Readonly<Record<LimitObligation["kind"], RefusalCode>> = {
  rate: "RATE_LIMITED",
  quota: "QUOTA_EXHAUSTED",
  concurrency: "CONCURRENCY_LIMITED",
};

/** What a limited caller is told: the rule's own words, and how long to wait where that is known (`waitMs` over 0). */
export function limitRefusal(limit: LimitObligation, waitMs: number): Refusal {
  const { kind, rule, per } = limit;
  const waitSeconds = Math.ceil(waitMs / 1_000);
  const wait =
    waitSeconds === 0 ? [] : [`Wait ${waitSeconds} ${waitSeconds === 1 ? "second" : "seconds"}, then try again.`];
  const message = [...(limit.message === undefined ? [] : [limit.message]), ...wait].join(" ");
  const facts = { rule, kind, per: [...per], waitSeconds };
  return refuse(codes[kind], facts, message === "" ? {} : { message }).refusal;
}
