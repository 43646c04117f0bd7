import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { GuardedFetch } from "./egress.ts";

/** What became of a message: `dropped` for one that found the queue full, or the gateway about to stop. */
export type WebhookOutcome = "delivered" | "failed" | "dropped";

export interface WebhookOptions {
  readonly url: string;
  /** Keys the HMAC-SHA-256 (hex) over the body, which goes with it as `sallyport-signature: sha256=…`. */
  readonly secret: string | undefined;
  readonly fetch: GuardedFetch;
  readonly bounds: {
    readonly webhookQueueMax: number;
    readonly webhookAttemptsMax: number;
    /** Pause after a first failure, in milliseconds; each further one is twice as long. */
    readonly webhookRetryMs: number;
  };
  readonly onOutcome: (outcome: WebhookOutcome, cause?: unknown) => void;
}

/** Tells somebody outside, one message after the other, in order. Nobody waits for it. */
export interface Webhook {
  /** Puts a message, which is JSON text, at the end of the queue. */
  post(message: string): void;
  /** Sends no more; resolves when nothing is under way. */
  close(): Promise<void>;
}

/**
 * Posts messages through the egress guard. Any answer but 2xx, a redirect too, counts as failed, and is tried
 * `webhookAttemptsMax` times in all; then the message is lost and counted. A receiver may get one twice.
 */
export function createWebhook(options: WebhookOptions): Webhook {
  const queue: string[] = [];
  const closing = new AbortController();
  let working: Promise<void> | undefined;
  const work = async (): Promise<void> => {
    for (let message = queue.shift(); message !== undefined; message = queue.shift())
      options.onOutcome(...(await deliver(message, options, closing.signal)));
    working = undefined;
  };
  return {
    post: (message) => {
      if (closing.signal.aborted || queue.length >= options.bounds.webhookQueueMax) {
        options.onOutcome("dropped");
        return;
      }
      queue.push(message);
      working ??= work();
    },
    close: async () => {
      closing.abort();
      queue.splice(0).forEach(() => {
        options.onOutcome("dropped");
      });
      await working;
    },
  };
}

async function deliver(
  message: string,
  options: WebhookOptions,
  signal: AbortSignal,
): Promise<[WebhookOutcome, cause?: unknown]> {
  const { webhookAttemptsMax, webhookRetryMs } = options.bounds;
  let cause: unknown;
  for (let attempt = 1; attempt <= webhookAttemptsMax; attempt += 1) {
    try {
      await send(message, options, signal);
      return ["delivered"];
    } catch (error) {
      cause = error;
    }
    // Rejects once the gateway is about to stop, as does whatever is under way then.
    const paused = pause(webhookRetryMs * 2 ** (attempt - 1), true, { signal }).catch(() => false);
    if (attempt < webhookAttemptsMax && !(await paused)) break;
  }
  return ["failed", cause];
}

async function send(message: string, { url, secret, fetch }: WebhookOptions, signal: AbortSignal): Promise<void> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (secret !== undefined) headers["sallyport-signature"] = `sha256=${signature(secret, message)}`;
  const answer = await fetch(url, { method: "POST", headers, body: message, signal });
  if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
}

function signature(secret: string, message: string): string {
  return createHmac("sha256", secret).update(message, "utf8").digest("hex");
}
