// An upstream that keeps asking while it works must not make the gateway work for it without bound.
import { describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { createEventAnswer } from "../../src/upstream/event-answer.ts";

const head = { status: 200, sessionId: undefined, challenge: undefined };
const bounds = { eventBytesMax: 1_000_000, eventsMax: 500, batchElementsMax: 50 };
const event = (value: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
const answer = { jsonrpc: "2.0", id: "mine", result: {} };

describe("messages of an event stream", () => {
  it.each([
    [limits.upstreamRequestsPerExchangeMax, "response"],
    [limits.upstreamRequestsPerExchangeMax + 1, "UPSTREAM_ANSWER_TOO_LARGE"],
  ])("%i requests before the answer: %s", (count, outcome) => {
    let asked = 0;
    const stream = createEventAnswer(head, "mine", { onRequest: () => (asked += 1) }, bounds);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    let reply = undefined;
    for (let sent = 0; sent < count && reply === undefined; sent += 1) reply = stream.push(event(ping));
    reply ??= stream.push(event(answer));
    expect(reply?.kind === "none" ? reply.refusal.code : reply?.kind).toBe(outcome);
    expect(asked).toBe(limits.upstreamRequestsPerExchangeMax);
  });

  it.each([
    [499, "response"],
    [500, "UPSTREAM_ANSWER_TOO_LARGE"],
  ])("%i notifications, fifty to an event, count one by one: %s", (count, outcome) => {
    const stream = createEventAnswer(head, "mine", {}, bounds);
    const note = { jsonrpc: "2.0", method: "notifications/message", params: {} };
    let reply = undefined;
    for (let left = count; left > 0 && reply === undefined; left -= 50)
      reply = stream.push(event(Array.from({ length: Math.min(50, left) }, () => note)));
    reply ??= stream.push(event(answer));
    expect(reply?.kind === "none" ? reply.refusal.code : reply?.kind).toBe(outcome);
  });
});
