import type { AskedOutcome } from "../../audit/event.ts";
import type { AnswerAsked, Asked, AskedAnswer } from "../../upstream/port.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { askClient } from "./ask-client.ts";
import { judgeAsked, type Judgement } from "./judge-asked.ts";
import { recordAsked } from "./record-asked.ts";

/** Who answers a legacy upstream's requests on an exchange of a client: the client, as far as it may be asked. */
export function answersFrom(
  x: Exchange,
  g: Gateway,
  about: { readonly upstream: string; readonly until: number },
): AnswerAsked {
  return async (asked) => {
    try {
      return await answerAsked(x, g, { ...about, asked });
    } catch (cause) {
      g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT", upstream: about.upstream }, cause);
      return { error: { code: -32603, message: "The gateway has a fault of its own." } };
    }
  };
}

interface Question {
  readonly upstream: string;
  readonly until: number;
  readonly asked: Asked;
}

/**
 * One request of a legacy upstream to the client, from its arrival to its answer. What is not put before the client is
 * answered all the same, so that no upstream waits for ever.
 */
async function answerAsked(x: Exchange, g: Gateway, { upstream, until, asked }: Question): Promise<AskedAnswer> {
  const { method, params, signal } = asked;
  const judged = judgeAsked(x, g, { upstream, method, params });
  const { outcome, answer } =
    judged.verdict === "pass"
      ? await delivered(x, g, { judged, until, signal })
      : { outcome: judged.verdict, answer: refusalTo(method, judged) };
  const kept = recordAsked(x, g, { asked: { upstream, method }, ...judged, outcome });
  return kept ? answer : { error: { code: -32603, message: "The gateway cannot keep evidence now." } };
}

async function delivered(
  x: Exchange,
  g: Gateway,
  of: {
    judged: Extract<Judgement, { verdict: "pass" }>;
    until: number;
    signal: Asked["signal"];
  },
): Promise<{ outcome: AskedOutcome; answer: AskedAnswer }> {
  const { judged, until, signal } = of;
  const came = await askClient(x, g, { request: judged.request, patience: { until, signal } });
  const { outcome } = came;
  return { outcome, answer: came.kind === "answer" ? { result: came.result } : { error: came.error } };
}

/**
 * What an upstream hears that the client does not: a person who is not asked has declined (2025-11-25, elicitation,
 * "Response Actions"), a model that is not asked was refused by its user (sampling, "Error Handling": −1), and so are
 * roots. A mode that was not declared is a wrong parameter (elicitation, "Error Handling"), anything else that was
 * not declared does not exist.
 */
function refusalTo(method: string, judged: Exclude<Judgement, { verdict: "pass" }>): AskedAnswer {
  switch (judged.verdict) {
    case "denied":
      if (method === "elicitation/create") return { result: { action: "decline" } };
      return { error: { code: -1, message: "The request was rejected." } };
    case "unsupported":
      if (method === "elicitation/create")
        return { error: { code: -32602, message: "The client does not support this mode of elicitation." } };
      return { error: { code: -32601, message: "The client does not support this." } };
    case "malformed":
      return { error: { code: -32602, message: `Invalid params: ${judged.fault}` } };
  }
}
