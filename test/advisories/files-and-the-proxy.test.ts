import httpProxy from "@fastify/http-proxy";
import Fastify from "fastify";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startFilesBench, type FileScript, type FilesBench } from "../edge/files-bench.ts";
import { sendRaw, type Received } from "../journey/http-client.ts";

/**
 * What a proxy in its ordinary use carries to an upstream and back, and what the gateway makes of the same request
 * (lessons, "Leaks and limits"; decision record 10). The first half keeps the second from guarding against nothing.
 */
let bench: FilesBench;
let closeProxy: () => Promise<unknown>;
afterEach(async () => {
  await closeProxy();
  await bench.close();
});

const answerAsUpstreamsDo: FileScript = (request, wire) => {
  if (request.path === "/reports/busy.pdf") wire.respond(503, undefined, "", ["Retry-After: 0.001"]);
  else if (request.path === "/reports/moved.pdf") wire.respond(302, undefined, "", ["Location: http://10.0.0.1/"]);
  else wire.respond(200, "application/pdf", "%PDF", ["Set-Cookie: session=canary"]);
};

interface Doors {
  proxy(path: string): Promise<Received>;
  gateway(path: string): Promise<Received>;
}

async function open(): Promise<Doors> {
  bench = await startFilesBench({ files: { routes: ["/**"], types: ["application/pdf"] } });
  bench.answer(answerAsUpstreamsDo);
  const app = Fastify({ logger: false });
  await app.register(httpProxy, { upstream: new URL(bench.upstream.url).origin, prefix: "/files/support/crm" });
  await app.listen({ host: "127.0.0.1", port: 0 });
  closeProxy = () => app.close();
  const { port } = app.server.address() as AddressInfo;
  const token = await bench.token();
  return {
    proxy: (path) => {
      const head = [`GET /files/support/crm${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`];
      return sendRaw(port, `${head.join("\r\n")}\r\nCookie: canary=1\r\nConnection: close\r\n\r\n`);
    },
    gateway: (path) => bench.raw(`/files/support/crm${path}`, { headers: ["Cookie: canary=1"] }),
  };
}

const paths = (): string[] => bench.fetched().map(({ path }) => path);

describe("what a proxy carries as it is", () => {
  it.each([["/reports//7.pdf"], ["/reports/7%00.pdf"], ["/reports;x/7.pdf"]])(
    "the path %s reaches an upstream through it, and none through the gateway",
    async (path) => {
      const doors = await open();
      expect((await doors.proxy(path)).status).toBe(200);
      expect(paths()).toEqual([path]);
      expect((await doors.gateway(path)).status).toBe(400);
      expect(paths()).toEqual([path]);
    },
  );

  it("the caller's token and cookies reach the upstream, and the upstream's cookies the caller", async () => {
    const doors = await open();
    const carried = await doors.proxy("/reports/7.pdf");
    expect(bench.fetched()[0]!.raw.toString()).toMatch(/authorization: Bearer [\s\S]*cookie: canary/i);
    expect(carried.headers["set-cookie"]).toBe("session=canary");
    const judged = await doors.gateway("/reports/7.pdf");
    expect(bench.fetched()[1]!.raw.toString()).not.toMatch(/authorization|canary/i);
    expect([judged.status, judged.headers["set-cookie"]]).toEqual([200, undefined]);
  });

  it("a redirect into a network reaches the caller", async () => {
    const doors = await open();
    expect((await doors.proxy("/reports/moved.pdf")).headers.location).toBe("http://10.0.0.1/");
    const judged = await doors.gateway("/reports/moved.pdf");
    expect([judged.status, judged.headers.location]).toEqual([502, undefined]);
  });

  it("an upstream that is busy is asked eleven times, and once by the gateway", async () => {
    const doors = await open();
    await doors.proxy("/reports/busy.pdf");
    expect(paths().length).toBe(11);
    expect((await doors.gateway("/reports/busy.pdf")).status).toBe(502);
    expect(paths().length).toBe(12);
  });
});
