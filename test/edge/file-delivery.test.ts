import { createServer, IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { Socket, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { errandOf, type Visit } from "../../src/edge/files/deliver-file.ts";
import { beginExchange, type Arrival } from "../../src/gateway/exchange.ts";
import { neverCancelled } from "../../src/model/cancellation.ts";
import { limits } from "../../src/model/limits.ts";
import { startGatewayUnderTest, until, type GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { refusalIn } from "../journey/wire-client.ts";
import { pdf, startFilesBench, type FilesBench } from "./files-bench.ts";

let closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  closers = [];
});

const types = ["application/pdf"];
const file = "/files/support/crm/reports/7.pdf";

async function start(options: Parameters<typeof startFilesBench>[0]): Promise<FilesBench> {
  const bench = await startFilesBench(options);
  closers.push(() => bench.close());
  return bench;
}

/** How the last exchange of a file ended, once it is recorded. */
async function ending(gateway: GatewayUnderTest, count = 1): Promise<{ type: string; code: string; bytes: number }> {
  const over = (): ReturnType<GatewayUnderTest["audit"]> =>
    gateway.audit().filter(({ method, outcome }) => method === "file/fetch" && outcome !== undefined);
  await until(() => over().length >= count);
  const event = over().at(-1)!;
  return { type: event.type, code: event.refusal?.code ?? "", bytes: event.resultBytes ?? 0 };
}

describe("a file without a length", () => {
  const files = { routes: ["/reports/*"], types, bytesMax: 1_000 };

  it("comes whole up to the bound", async () => {
    const bench = await start({ files });
    bench.answer((_request, wire) => {
      wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (let piece = 0; piece < 10; piece += 1) wire.chunk("x".repeat(100));
      wire.endChunks();
    });
    const answer = await bench.get(file);
    expect([answer.status, answer.text.length, answer.headers["content-length"]]).toEqual([200, 1_000, undefined]);
    expect(await ending(bench.gateway)).toEqual({ type: "returned", code: "", bytes: 1_000 });
  });

  it("is cut off beyond the bound, so that nobody takes it for whole, and no byte beyond it is delivered", async () => {
    const bench = await start({ files });
    bench.answer((_request, wire) => {
      wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (let piece = 0; piece < 10; piece += 1) wire.chunk("x".repeat(100));
      setTimeout(() => {
        wire.chunk("y");
      }, 50);
    });
    const answer = await bench.raw(file);
    expect(answer.text).not.toMatch(/y|\r\n0\r\n/);
    expect(await ending(bench.gateway)).toMatchObject({ type: "failed", code: "UPSTREAM_ANSWER_TOO_LARGE" });
    await until(() => bench.upstream.abandoned.some(({ path }) => path === "/reports/7.pdf"));
  });
});

describe("a file that breaks off", () => {
  it.each([
    ["with a length", "Content-Length: 100\r\n\r\n%PDF"],
    ["in chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\n%PDF\r\n"],
  ])("%s breaks the client's connection off", async (_name, head) => {
    const bench = await start({});
    bench.answer((_request, wire) => {
      wire.write(`HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n${head}`);
      setTimeout(() => {
        wire.end();
      }, 50);
    });
    await expect(bench.get(file)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
    expect(await ending(bench.gateway)).toMatchObject({ type: "failed", code: "UPSTREAM_CLOSED_EARLY", bytes: 4 });
  });
});

describe("deadlines of the upstream", () => {
  const patient = { connectMs: 600_000, firstByteMs: 600_000, idleMs: 600_000, callMs: 600_000 };
  it.each([
    ["first byte", { ...patient, firstByteMs: 100 }],
    ["the whole", { ...patient, callMs: 100 }],
  ])("%s: one that says nothing is answered for with 504", async (_name, timeouts) => {
    const bench = await start({ upstream: { timeouts } });
    bench.answer(() => undefined);
    const answer = await bench.get(file);
    expect([answer.status, refusalIn(answer).code]).toEqual([504, "UPSTREAM_TIMED_OUT"]);
    await until(() => bench.upstream.abandoned.length > 0);
  });

  it.each([
    ["idle", { ...patient, idleMs: 100 }],
    ["the whole", { ...patient, callMs: 300 }],
  ])("%s: one that stops within a file is cut off", async (_name, timeouts) => {
    const bench = await start({ upstream: { timeouts } });
    bench.answer((_request, wire) => {
      wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 9\r\n\r\n%PDF");
    });
    await expect(bench.get(file)).rejects.toThrow();
    expect(await ending(bench.gateway)).toMatchObject({ type: "failed", code: "UPSTREAM_TIMED_OUT" });
    await until(() => bench.upstream.abandoned.length > 0);
  });
});

describe("a client that leaves", () => {
  it.each([["before the file begins"], ["within the file"]])("%s takes the upstream's work with it", async (when) => {
    const bench = await start({});
    bench.answer((_request, wire) => {
      if (when === "within the file")
        wire.write("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 9\r\n\r\n%PDF");
    });
    const client = await open(bench.gateway, await bench.token());
    await until(() => bench.fetched().length === 1);
    if (when === "within the file") await client.firstBytes;
    client.leave();
    await until(() => bench.upstream.abandoned.length === 1);
    expect(await ending(bench.gateway)).toMatchObject({ type: "failed", code: "CLIENT_GONE" });
    // What it held is free again.
    bench.answer((_request, wire) => {
      wire.respond(200, "application/pdf", pdf);
    });
    expect((await bench.get(file)).status).toBe(200);
  });
});

describe("a client that leaves in the very moment in which the file begins", () => {
  it("is noticed by whoever judges the head, as the library tells nobody", () => {
    const request = new IncomingMessage(new Socket());
    const path = { server: "support", upstream: "crm", path: "/reports/7.pdf", query: "" };
    const route = { upstream: "crm", origin: "http://crm", types: new Set(types), bytesMax: 9, globOf: () => "/**" };
    const arrival = { headers: {}, httpMethod: "GET", gone: neverCancelled } as unknown as Arrival;
    const x = beginExchange(arrival, "ref", 0);
    const visit: Visit = { x, asked: "", file: { route, path }, request, head: undefined, ticket: "", over: false };
    x.account = { tenant: "default", principalKey: "ada", clientSession: undefined, caller: undefined };
    const { judge } = errandOf(visit, { now: () => 0, treatments: new Map(), limits });
    const headers = { "content-type": "application/pdf" };
    expect([judge(200, headers), visit.head?.status]).toEqual([undefined, 200]);
    request.destroy();
    expect(judge(200, headers)?.code).toBe("CLIENT_GONE");
  });
});

describe("more files at once than one upstream is asked for", () => {
  it("are refused at once, and one more is fetched as soon as one is over", async () => {
    const bench = await start({});
    const open: (() => void)[] = [];
    bench.answer((_request, wire) => {
      open.push(() => {
        wire.respond(200, "application/pdf", pdf);
      });
    });
    const held = Array.from({ length: limits.filesInFlightPerUpstreamMax }, () => bench.get(file));
    await until(() => open.length === limits.filesInFlightPerUpstreamMax);
    const refused = await bench.get(file);
    expect([refused.status, refusalIn(refused).code]).toEqual([503, "UPSTREAM_QUEUE_FULL"]);
    expect(bench.fetched().length).toBe(limits.filesInFlightPerUpstreamMax);
    for (const answer of open.splice(0)) answer();
    expect(new Set((await Promise.all(held)).map(({ status }) => status))).toEqual(new Set([200]));
    const next = bench.get(file);
    await until(() => open.length === 1);
    open[0]!();
    expect((await next).status).toBe(200);
  });
});

describe("a client that reads slowly", () => {
  it("slows the upstream down, instead of filling the gateway's memory", async () => {
    const whole = 64 * 1024 * 1024;
    let written = 0;
    const upstream = await serve((res) => {
      res.writeHead(200, { "content-type": "application/pdf", "content-length": whole });
      const more = (): void => {
        while (written < whole) {
          written += 65_536;
          if (!res.write(Buffer.alloc(65_536))) {
            res.once("drain", more);
            return;
          }
        }
        res.end();
      };
      more();
    });
    const gateway = await startGatewayUnderTest({
      upstreams: { crm: { url: `${upstream}/mcp`, era: "modern", files: { routes: ["/reports/*"], types } } },
      servers: { support: { crm: "" } },
    });
    closers.push(() => gateway.remove());
    const client = await open(gateway, undefined);
    const response = await client.firstBytes;
    response.pause();
    // Still: nothing moves any more although most of the file is not written yet.
    let last = -1;
    while (last !== written) {
      last = written;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(written).toBeLessThan(whole / 2);
    let received = 0;
    response.on("data", (chunk: Buffer) => (received += chunk.length));
    response.resume();
    await new Promise((resolve) => response.once("end", resolve));
    expect([written, received + client.bytesBefore()]).toEqual([whole, whole]);
  });

  async function serve(answer: (res: ServerResponse) => void): Promise<string> {
    const server: Server = createServer((req, res) => {
      if (req.url === "/mcp") res.writeHead(404).end();
      else answer(res);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closers.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

interface Client {
  /** The response, paused, once its first bytes are there. */
  readonly firstBytes: Promise<IncomingMessage>;
  bytesBefore(): number;
  leave(): void;
}

function open(gateway: GatewayUnderTest, token: string | undefined): Promise<Client> {
  let bytes = 0;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const outgoing = request({ host: "127.0.0.1", port: gateway.port, path: file, headers, agent: false });
  outgoing.on("error", () => undefined);
  const firstBytes = new Promise<IncomingMessage>((resolve) => {
    outgoing.on("response", (response) => {
      response.on("error", () => undefined);
      response.once("data", (chunk: Buffer) => {
        bytes += chunk.length;
        response.pause();
        resolve(response);
      });
    });
  });
  outgoing.end();
  return Promise.resolve({ firstBytes, bytesBefore: () => bytes, leave: () => outgoing.destroy() });
}
