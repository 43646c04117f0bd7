import { afterEach, describe, expect, it } from "vitest";
import { withWayOut } from "../../../src/gateway/connections/way-out.ts";
import type { Exchange } from "../../../src/gateway/exchange.ts";
import { forward } from "../../../src/gateway/steps/forward.ts";
import { openRequestState } from "../../../src/gateway/steps/open-request-state.ts";
import { sealState } from "../../../src/gateway/asking/request-state.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import type { Refusal } from "../../../src/model/refusal.ts";
import { callBench, calling, link } from "./call-bench.ts";
import type { CallBench, Calling } from "./call-bench.ts";

const benches: CallBench[] = [];

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

function bench(more: Parameters<typeof callBench>[0] = {}): CallBench {
  const made = callBench(more);
  benches.push(made);
  return made;
}

const outcomes = ({ recorded }: CallBench): unknown[] => recorded.map(({ asked }) => asked);
const asked = (outcome: string): unknown => ({ feature: "elicitation_url", outcome, upstream: "crm", by: "gateway" });
const codeOf = (refusal: Refusal | undefined): unknown =>
  refusal === undefined ? undefined : [refusal.code, refusal.facts["reason"]];

describe("a call of a modern client that declared pages, at an upstream that is not connected", () => {
  /** The call once more, with what the client was given and its answer. */
  async function comesBack(
    of: CallBench,
    first: Exchange,
    answer: JsonObject,
  ): Promise<[Exchange, Refusal | undefined]> {
    const again = calling({
      era: "modern",
      params: {
        name: "echo",
        arguments: {},
        inputResponses: answer,
        requestState: first.result?.["requestState"] ?? "",
      },
    });
    return [again, (await openRequestState(again, of.g)) ?? (await forward(again, of.g))];
  }

  async function asks(of: CallBench, x = calling({ era: "modern" })): Promise<Exchange> {
    expect(await forward(x, of.g)).toBeUndefined();
    return x;
  }

  it("is answered with the page, whatever policy says of questions, and nothing is sent", async () => {
    const of = bench();
    const x = await asks(of);
    expect(x.asksInput).toBe(true);
    expect(x.result).toEqual({
      resultType: "input_required",
      inputRequests: {
        connect: {
          method: "elicitation/create",
          params: {
            mode: "url",
            message: "Connect Customer records to your own account there to go on with this call.",
            url: link,
          },
        },
      },
      requestState: expect.any(String) as unknown,
    });
    expect([of.calls.length, outcomes(of)]).toEqual([0, [asked("offered")]]);
  });

  it("waits for the connection when the client comes back, and then goes to the upstream without the answer", async () => {
    const of = bench();
    const first = await asks(of);
    const going = comesBack(of, first, { connect: { action: "accept" } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(of.calls).toEqual([]);
    await of.connect();
    const [x, refusal] = await going;
    expect([refusal, x.result]).toEqual([undefined, { content: [] }]);
    expect(of.calls.map(({ params }) => params)).toEqual([{ name: "echo", arguments: {} }]);
    expect(outcomes(of)).toEqual([asked("offered"), asked("accepted")]);
  });

  it("is refused, and not asked again, when the connection is not there in time", async () => {
    const of = bench({ connectionWaitMs: 30 });
    const [x, refusal] = await comesBack(of, await asks(of), { connect: { action: "accept" } });
    expect([codeOf(refusal), x.outcome, x.asksInput]).toEqual([
      ["UPSTREAM_CONNECTION_REQUIRED", "not-connected"],
      "refused",
      false,
    ]);
  });

  it.each([
    ["decline", "declined"],
    ["cancel", "cancelled"],
  ])("is refused at once when its person chooses %s", async (action, outcome) => {
    const of = bench();
    const [, refusal] = await comesBack(of, await asks(of), { connect: { action } });
    expect(codeOf(refusal)).toEqual(["UPSTREAM_CONNECTION_REQUIRED", outcome]);
    expect(outcomes(of)).toEqual([asked("offered"), asked(outcome)]);
  });

  it.each([{}, { other: { action: "accept" } }, { connect: { roots: [] } }])(
    "takes %j for no answer to it",
    async (answer) => {
      const of = bench();
      const [, refusal] = await comesBack(of, await asks(of), answer);
      expect(refusal?.code).toBe("RPC_PARAMS_INVALID");
    },
  );

  it("keeps what the call itself resumed with, and gives it to the upstream once it is connected", async () => {
    const of = bench();
    const resumed = calling({ era: "modern" });
    resumed.input = { responses: { ask: { action: "accept", content: { n: 1 } } }, state: "upstream's own" };
    const first = await asks(of, resumed);
    await of.connect();
    await comesBack(of, first, { connect: { action: "accept" } });
    expect(of.calls.map(({ params }) => params)).toEqual([
      {
        name: "echo",
        arguments: {},
        inputResponses: { ask: { action: "accept", content: { n: 1 } } },
        requestState: "upstream's own",
      },
    ]);
  });

  it("is refused with the page in words where what it resumes with is too much to be carried once more", async () => {
    const of = bench();
    const x = calling({ era: "modern" });
    const room = of.g.limits.requestStateBytesMax;
    x.input = { responses: undefined, state: "s".repeat(room) };
    expect(codeOf(await forward(x, of.g))).toEqual(["UPSTREAM_CONNECTION_REQUIRED", "not-connected"]);
    x.input = { responses: undefined, state: "s".repeat(room - 7) };
    expect(await forward(x, of.g)).toBeUndefined();
  });

  it("takes an upstream's own state for no answer of the gateway's page", async () => {
    const of = bench();
    await of.connect();
    const x = calling({ era: "modern" });
    const held = { state: "s", asked: new Map([["connect", "elicitation_url"] as const]) };
    const entry = x.target?.entry;
    if (entry === undefined) throw new Error("no entry");
    const requestState = sealState(x, of.g, { entry, held });
    const [again] = [calling({ era: "modern", params: { name: "echo", requestState } })];
    await openRequestState(again, of.g);
    expect([again.connecting, again.input?.state]).toEqual([false, "s"]);
  });
});

describe("a call of a legacy client that declared pages, at an upstream that is not connected", () => {
  interface Heard {
    readonly messages: JsonObject[];
    readonly x: Exchange;
  }

  /** A call whose client answers every dialog so. */
  function callOf(of: CallBench, action: string | undefined, who: Calling["who"] = {}): Heard {
    const messages: JsonObject[] = [];
    const hear = (message: JsonObject): void => {
      messages.push(message);
      const { id, method } = message;
      if (method !== "elicitation/create" || typeof id !== "string" || action === undefined) return;
      const response = { kind: "response", id, result: { action } } as const;
      void of.g.asking.waiting.take({ tenant: "default", id: "session" }, response);
    };
    return { messages, x: calling({ era: "legacy", hear, who }) };
  }

  it("opens the page while it is under way, tells when it is done, and goes to the upstream", async () => {
    const of = bench();
    const { messages, x } = callOf(of, "accept");
    const going = forward(x, of.g);
    while (outcomes(of).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await of.connect();
    expect([await going, x.result]).toEqual([undefined, { content: [] }]);
    const params = messages[0]?.["params"] as JsonObject;
    expect(params).toMatchObject({ mode: "url", url: link, elicitationId: expect.any(String) as unknown });
    expect(messages.slice(1)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/elicitation/complete",
        params: { elicitationId: params["elicitationId"] },
      },
    ]);
    expect([of.calls.length, outcomes(of)]).toEqual([1, [asked("accepted")]]);
  });

  it.each([
    ["decline", "declined"],
    ["cancel", "cancelled"],
  ])("is refused when its person chooses %s", async (action, outcome) => {
    const of = bench();
    const { messages, x } = callOf(of, action);
    expect(codeOf(await forward(x, of.g))).toEqual(["UPSTREAM_CONNECTION_REQUIRED", outcome]);
    expect([messages.length, x.outcome, outcomes(of)]).toEqual([1, "refused", [asked(outcome)]]);
  });

  it("is refused, and its dialog closed, when nobody answers in time", async () => {
    const of = bench({ connectionWaitMs: 30 });
    const { messages, x } = callOf(of, undefined);
    expect(codeOf(await forward(x, of.g))).toEqual(["UPSTREAM_CONNECTION_REQUIRED", "not-connected"]);
    expect(messages.map(({ method }) => method)).toEqual(["elicitation/create", "notifications/cancelled"]);
  });

  it("is refused where its client has no stream to be asked on", async () => {
    const of = bench();
    expect(codeOf(await forward(calling({ era: "legacy" }), of.g))).toEqual([
      "UPSTREAM_CONNECTION_REQUIRED",
      "not-connected",
    ]);
    expect(outcomes(of)).toEqual([asked("undeliverable")]);
  });

  it("shares one dialog with the other calls of its session", async () => {
    const of = bench();
    const both = [callOf(of, "accept"), callOf(of, "accept")];
    const going = both.map(({ x }) => forward(x, of.g));
    while (outcomes(of).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await of.connect();
    await Promise.all(going);
    const dialogs = both.flatMap(({ messages }) => messages).filter(({ method }) => method === "elicitation/create");
    expect([dialogs.length, of.calls.length, outcomes(of).length]).toEqual([1, 2, 1]);
  });

  it("ends with the call, when that is cancelled", async () => {
    const of = bench();
    const { x } = callOf(of, "accept");
    const cancelled = new AbortController();
    x.cancellation = cancelled.signal;
    const going = forward(x, of.g);
    while (outcomes(of).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    cancelled.abort();
    expect([codeOf(await going), of.calls.length]).toEqual([["UPSTREAM_CONNECTION_REQUIRED", "not-connected"], 0]);
  });
});

describe("a call that cannot be asked", () => {
  it.each<[string, Calling]>([
    ["of a modern client that declared forms alone", { era: "modern", capabilities: { elicitation: { form: {} } } }],
    ["of a modern client that declared `elicitation: {}`", { era: "modern", capabilities: { elicitation: {} } }],
    ["of a modern client that declared nothing", { era: "modern", capabilities: {} }],
    ["of a legacy client that declared nothing", { era: "legacy", capabilities: {}, hear: () => undefined }],
    [
      "for a completion, which no client resumes",
      {
        era: "modern",
        method: "completion/complete",
        params: { ref: { type: "ref/prompt", name: "echo" }, argument: { name: "a", value: "" } },
      },
    ],
  ])("%s is refused with the page in words", async (_name, of) => {
    const { g, recorded } = bench();
    const x = calling(of);
    const refusal = withWayOut(x, g, await forward(x, g));
    expect(refusal?.message).toBe(
      `Open ${link} in a browser, sign in as yourself, and call again once it is connected.`,
    );
    expect([x.outcome, recorded]).toEqual(["refused", []]);
  });

  it("of a service, as which nobody signs in, is refused without a page and without a question", async () => {
    const { g, recorded } = bench();
    const x = calling({ era: "modern", who: { kind: "service" } });
    const refusal = withWayOut(x, g, await forward(x, g));
    expect([refusal?.message, recorded]).toEqual([
      "Nobody can sign in here to connect it for this account: tell the operator.",
      [],
    ]);
  });

  it("says what has become of a connection that was there", async () => {
    const { g } = bench({ reason: "expired" });
    const x = calling({ era: "legacy", capabilities: {} });
    expect(withWayOut(x, g, await forward(x, g))?.message).toMatch(/^The connection that you made has expired\. Open /);
  });
});
