import { describe, expect, it } from "vitest";
import type { GuardedFetch } from "../../src/upstream/egress.ts";
import { createWebhook, type Webhook, type WebhookOutcome } from "../../src/upstream/webhook.ts";

interface Bench {
  readonly webhook: Webhook;
  /** Bodies in the order of the attempts. */
  readonly sent: string[];
  readonly outcomes: WebhookOutcome[];
  /** Settles the attempt that is under way. */
  readonly answer: (status: number | Error) => Promise<void>;
}

function bench(bounds: { readonly attemptsMax?: number; readonly queueMax?: number } = {}): Bench {
  const [sent, outcomes]: [string[], WebhookOutcome[]] = [[], []];
  const waiting: ((status: number | Error) => void)[] = [];
  const fetch: GuardedFetch = (_url, init) => {
    sent.push(typeof init?.body === "string" ? init.body : "");
    return new Promise((resolve, reject) => {
      init?.signal?.addEventListener("abort", () => {
        reject(new Error("aborted"));
      });
      waiting.push((status) => {
        if (status instanceof Error) reject(status);
        else resolve(new Response(null, { status }));
      });
    });
  };
  const webhook = createWebhook({
    url: "https://hooks.example.com/x",
    secret: undefined,
    fetch,
    bounds: {
      webhookAttemptsMax: bounds.attemptsMax ?? 3,
      webhookQueueMax: bounds.queueMax ?? 10,
      webhookRetryMs: 1,
    },
    onOutcome: (outcome) => void outcomes.push(outcome),
  });
  const answer: Bench["answer"] = async (status) => {
    while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    waiting.shift()?.(status);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { webhook, sent, outcomes, answer };
}

describe("messages to a webhook", () => {
  it("go one after the other, in order", async () => {
    const { webhook, sent, outcomes, answer } = bench();
    for (const message of ["a", "b", "c"]) webhook.post(message);
    expect(sent).toEqual(["a"]);
    for (let n = 0; n < 3; n += 1) await answer(204);
    expect([sent, outcomes]).toEqual([
      ["a", "b", "c"],
      ["delivered", "delivered", "delivered"],
    ]);
    webhook.post("d");
    await answer(200);
    expect(outcomes).toHaveLength(4);
  });

  it.each([[500], [404], [new Error("unreachable")]])(
    "are tried so often and no more, with %s as the answer, and the next has its turn",
    async (status) => {
      const { webhook, sent, outcomes, answer } = bench();
      webhook.post("a");
      webhook.post("b");
      for (let n = 0; n < 3; n += 1) await answer(status);
      await answer(204);
      expect([sent, outcomes]).toEqual([
        ["a", "a", "a", "b"],
        ["failed", "delivered"],
      ]);
    },
  );

  it("that find the queue full are lost, and counted", async () => {
    const { webhook, outcomes, answer } = bench({ queueMax: 2 });
    for (const message of ["under way", "a", "b", "c"]) webhook.post(message);
    expect(outcomes).toEqual(["dropped"]);
    for (let n = 0; n < 3; n += 1) await answer(204);
    expect(outcomes).toEqual(["dropped", "delivered", "delivered", "delivered"]);
  });

  it("are no more sent once it is closed, and whoever closes it does not wait for an answer", async () => {
    const { webhook, sent, outcomes } = bench();
    webhook.post("a");
    webhook.post("b");
    await webhook.close();
    webhook.post("c");
    expect([sent, outcomes.sort()]).toEqual([["a"], ["dropped", "dropped", "failed"]]);
  });
});
