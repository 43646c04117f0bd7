import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { serveExchange } from "../../src/edge/serve-exchange.ts";
import { createSilences } from "../../src/edge/silences.ts";
import type { Arrival } from "../../src/gateway/exchange.ts";
import type { Gateway, VirtualServer } from "../../src/gateway/gateway.ts";
import { handle } from "../../src/gateway/handle.ts";
import type { Answer } from "../../src/gateway/wire-answer.ts";
import { limits } from "../../src/model/limits.ts";

vi.mock("../../src/gateway/handle.ts", () => ({ handle: vi.fn() }));

const logged: unknown[] = [];
let server: Server;

beforeAll(async () => {
  const gateway = {
    draining: () => false,
    ref: () => "ref-1",
    logRefusal: (facts: unknown) => logged.push(facts),
  } as unknown as Gateway;
  const silences = createSilences(limits.streamCommentMs);
  server = createServer((req, res) => {
    serveExchange(req, res, { gateway, limits, silences }, { server: {} as VirtualServer, extra: {} });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

function answerWith(answer: Answer, before: (arrival: Arrival) => void = () => undefined): void {
  vi.mocked(handle).mockImplementationOnce((arrival) => {
    before(arrival);
    return Promise.resolve(answer);
  });
}

interface Got {
  readonly status: number | undefined;
  readonly text: string;
  readonly ended: boolean;
}

function get(): Promise<Got> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const req = request({
      port,
      host: "127.0.0.1",
      method: "POST",
      headers: { accept: "application/json, text/event-stream" },
    });
    req.on("response", (res) => {
      let text = "";
      res.on("data", (chunk: Buffer) => (text += chunk.toString()));
      res.on("error", () => undefined);
      res.on("close", () => {
        resolve({ status: res.statusCode, text, ended: res.complete });
      });
    });
    req.on("error", () => {
      resolve({ status: undefined, text: "", ended: false });
    });
    req.end("{}");
  });
}

const good: Answer = { status: 200, headers: {}, body: "{}" };
/** Node refuses to write it, as it would split the head. */
const unwritable: Answer = { status: 200, headers: { "x-broken": "a\r\nb" }, body: "{}" };

describe("a fault of the gateway's own while it answers", () => {
  it("is answered INTERNAL_FAULT where nothing was said yet, and the next request is served", async () => {
    answerWith(unwritable);
    const got = await get();
    expect([got.status, got.ended]).toEqual([500, true]);
    expect(JSON.parse(got.text)).toMatchObject({
      error: { code: -32603, data: { refusal: "INTERNAL_FAULT", ref: "ref-1" } },
    });
    expect(got.text).not.toContain("x-broken");
    expect(logged.at(-1)).toEqual({ ref: "ref-1", code: "INTERNAL_FAULT", during: "answer" });
    answerWith(good);
    expect(await get()).toEqual({ status: 200, text: "{}", ended: true });
  });

  it("costs the connection where an answer had begun, and the next request is served", async () => {
    answerWith(
      {
        ...good,
        get body(): string {
          throw new Error("a fault of ours");
        },
      },
      (arrival) => {
        arrival.stream()?.send('{"jsonrpc":"2.0","method":"notifications/message"}');
      },
    );
    const got = await get();
    expect([got.status, got.ended]).toEqual([200, false]);
    expect(got.text).toContain("notifications/message");
    expect(got.text).not.toContain("INTERNAL_FAULT");
    answerWith(good);
    expect((await get()).status).toBe(200);
  });
});
