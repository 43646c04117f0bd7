import { createServer, request as ask } from "node:http";
import type { Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { offboard } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { freePort } from "../setup/free-port.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { agreeTo, startConnectionBench } from "./connection-bench.ts";
import type { ConnectionBench } from "./connection-bench.ts";
import { until } from "./gateway-under-test.ts";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { modernCall, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let bench: ConnectionBench;
let replicas: readonly [GatewayUnderTest, GatewayUnderTest];
let front: Server;
/** Which replica the balancer before them sends browsers and clients to. */
let towards: GatewayUnderTest;

beforeAll(async () => {
  redis = await startRedis();
  const publicPort = await freePort();
  bench = await startConnectionBench({ redisUrl: redis.url, publicPort });
  replicas = [bench.gateway, await bench.replica()];
  [towards] = replicas;
  front = createServer((req, res) => {
    const { method = "GET", url = "/", headers } = req;
    const passed = ask({ host: "127.0.0.1", port: towards.port, method, path: url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    req.pipe(passed);
  });
  await new Promise<void>((resolve) => front.listen(publicPort, "127.0.0.1", resolve));
});

afterAll(async () => {
  front.closeAllConnections();
  await new Promise((resolve) => front.close(resolve));
  await bench.close();
  await redis.stop();
});

function grantsIn(at: GatewayUnderTest): readonly unknown[] {
  return at.audit().flatMap(({ type, grant }) => (grant === undefined ? [] : [{ type, ...grant }]));
}

const linkIn = (text: string): string =>
  /http:[^\s"]+\/connect\/crm\?link=[^\s"\\]+/.exec(text)?.[0] ?? `no link in ${text}`;

it("a connection that is begun at one replica and answered at the other serves calls at both, and is on record once", async () => {
  const [first, second] = replicas;
  const token = await bench.tokenOf("ada");
  const [here, there]: readonly Caller[] = replicas.map((gateway) => ({ gateway, server: "s", token }));
  const asked = await modernCall(here!, "tools/call", { name: "connect_crm", arguments: {} });
  expect(refusalIn(asked).code).toBe("UPSTREAM_CONNECTION_REQUIRED");

  const agreed = await agreeTo(first, linkIn(asked.text), "ada");
  if ("ended" in agreed) throw new Error(agreed.ended.text);
  towards = second;
  expect((await agreed.browser.open(agreed.back)).text).toContain("<h1>Connected</h1>");

  for (const caller of [here!, there!]) {
    const called = await modernCall(caller, "tools/call", { name: "echo", arguments: {} });
    expect([called.status, (called.json["result"] as Loose)["isError"]]).toEqual([200, undefined]);
  }
  // Played again, at the other replica.
  towards = first;
  expect((await agreed.browser.open(agreed.back)).status).toBe(403);
  const about = { issuer: first.publicUrl, subject: "ada", upstream: "crm", server: bench.provider.issuer, scopes: [] };
  const connected = { type: "credential", did: "connected", ...about, clientId: expect.any(String) as unknown };
  expect([grantsIn(first), grantsIn(second)]).toEqual([[], [connected]]);
});

it("whoever is offboarded loses it at both, and each replica has that on record under the command's reference", async () => {
  const { folder, env } = bench.gateway;
  const order = { config: join(folder, "sallyport.yaml"), subject: "ada", issuer: "own", tenant: undefined, days: 1 };
  const said: string[] = [];
  const output = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
  expect(await offboard(order, env, output, openOffboarding)).toBe(0);
  const ref = /reference ([0-9A-Z]{10})/.exec(said.join(" "))?.[1];
  const revoked = (at: GatewayUnderTest): unknown[] =>
    at.audit().flatMap((event) => (event.grant?.did === "revoked" ? [event.ref, event.grant.upstream] : []));
  await until(() => replicas.every((at) => revoked(at).length > 0));
  for (const at of replicas) expect(revoked(at)).toEqual([ref, "crm"]);
});
