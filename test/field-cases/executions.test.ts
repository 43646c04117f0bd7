import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose } from "../journey/http-client.ts";
import { refusalIn } from "../journey/wire-client.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { eras, hops, startPairings } from "./pairings.ts";
import type { Era, Hop, Pairings } from "./pairings.ts";

/** The row that a call adds somewhere. The hint is the upstream's own word, which promises nothing. */
const tool = {
  name: "order",
  inputSchema: { type: "object" },
  annotations: { idempotentHint: true, readOnlyHint: true },
};

type Loss = (wire: Wire, request: ReceivedRequest) => void;

let pairings: Pairings;
const ledger: unknown[] = [];
/** What becomes of the answer to a call once its row is written. */
let lose: Loss | undefined;

beforeAll(async () => {
  pairings = await startPairings((method) => (method === "tools/list" ? { tools: [tool] } : undefined), {
    // So many losses in a row would open the breaker, and then nothing is carried out at all.
    upstream: { timeouts: { callMs: 1_000 }, breaker: { failures: 0 } },
    onRequest: (request, wire) => {
      if (request.rpc["method"] !== "tools/call") return false;
      ledger.push(((request.rpc["params"] as Loose)["arguments"] as Loose)["order"]);
      if (lose === undefined) return false;
      lose(wire, request);
      return true;
    },
  });
});

afterAll(() => pairings.close());

const losses: readonly (readonly [what: string, loss: Loss])[] = [
  [
    "the connection is dropped before a byte of the answer",
    (wire) => {
      wire.end();
    },
  ],
  [
    "the connection is reset",
    (wire) => {
      wire.reset();
    },
  ],
  [
    "the process dies in the middle of its answer",
    (wire) => {
      wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{");
      wire.reset();
    },
  ],
  [
    "an event stream breaks off",
    (wire) => {
      wire.eventStream();
      wire.chunk(": working\n\n");
      wire.reset();
    },
  ],
  [
    "a hop says 502",
    (wire) => {
      wire.respond(502, "text/html", "<h1>Bad gateway</h1>");
    },
  ],
  [
    "a hop says 503 and when to try again",
    (wire) => {
      wire.respond(503, "text/plain", "busy", ["Retry-After: 0"]);
    },
  ],
  [
    "a hop says 504",
    (wire) => {
      wire.respond(504, undefined, "");
    },
  ],
  ["it never comes", () => undefined],
  [
    "it is a success with no message",
    (wire) => {
      wire.respond(200, "application/json", "");
    },
  ],
  [
    "it is another call's",
    (wire) => {
      wire.json(200, { jsonrpc: "2.0", id: "other", result: { content: [] } });
    },
  ],
];

let orders = 0;

describe.each(hops)("a call of a $client client whose $server server has carried it out", (hop: Hop) => {
  it.each(losses)("and %s: is executed once, and says that nobody knows", async (_what, loss) => {
    lose = loss;
    orders += 1;
    const answer = await pairings.ask(hop, "tools/call", { name: "order", arguments: { order: orders } }, "order");
    lose = undefined;
    expect(ledger.filter((order) => order === orders)).toEqual([orders]);
    expect([answer.status, answer.json["id"]]).toEqual([200, "order"]);
    expect(answer.json["result"]).toMatchObject({ isError: true });
    expect(refusalIn(answer).outcome).toBe("unknown");
    expect(answer.text).toContain("Whether the call was carried out is unknown");
    expect(answer.text).not.toContain("Bad gateway");
  });

  it("and answered: is executed once, and nothing of what went wrong before is left", async () => {
    orders += 1;
    const answer = await pairings.ask(hop, "tools/call", { name: "order", arguments: { order: orders } });
    expect(ledger.filter((order) => order === orders)).toEqual([orders]);
    expect(answer.json["result"]).not.toHaveProperty("isError");
  });
});

describe.each(eras)("a call to a %s server that surely was not carried out", (server: Era) => {
  it("because the server hangs up after each answer is carried out all the same, once", async () => {
    lose = (wire, { rpc }) => {
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { content: [], resultType: "complete" } });
      wire.end();
    };
    const mine = Array.from({ length: 20 }, () => (orders += 1));
    for (const order of mine) {
      const answer = await pairings.ask({ client: "modern", server }, "tools/call", {
        name: "order",
        arguments: { order },
      });
      expect(answer.json["result"]).not.toHaveProperty("isError");
    }
    lose = undefined;
    expect(ledger.filter((order) => mine.includes(Number(order)))).toEqual(mine);
  });
});
