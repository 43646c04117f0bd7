import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { event } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest } from "../upstream/scripted-upstream.ts";
import { everyFeature, openCall, openSessionWith } from "./asked-client.ts";
import { form } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { startListeningUpstream } from "./listening-bench.ts";

const leaving: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const leave of leaving.splice(0)) await leave();
});

describe("a question to a client that does not read what it is sent", () => {
  it("is answered to the upstream at once, as to a client that cannot be asked, while the call goes on", async () => {
    const answers: ReceivedRequest[] = [];
    const noise = { level: "error", data: "x".repeat(200_000) };
    let ask = (): void => undefined;
    const upstream = await startListeningUpstream("legacy", {
      first: (request, wire) => {
        if (request.rpc["id"] === "asked") {
          answers.push(request);
          wire.respond(202, undefined, "");
          return true;
        }
        if (request.rpc["method"] !== "tools/call") return false;
        wire.eventStream();
        // More than the buffers of a connection and the gateway's own for it hold together.
        ask = () => {
          for (let at = 0; at < 100; at += 1)
            wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params: noise }));
          wire.chunk(event({ jsonrpc: "2.0", id: "asked", ...form }));
        };
        wire.chunk(
          event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: "first" } }),
        );
        return true;
      },
    });
    const issuer = await startIssuer();
    const gateway = await startGatewayUnderTest({
      issuer,
      upstreams: { up: upstream.url },
      servers: { s: { up: "" } },
    });
    leaving.push(
      () => gateway.remove(),
      () => upstream.close(),
      () => issuer.close(),
    );
    const token = await issuer.mint(gateway.resource("s"));
    const caller = await openSessionWith({ gateway, server: "s", token }, everyFeature);
    const call = await openCall(caller, { name: "echo", arguments: {} });
    await call.stream.received(1);
    call.stream.pause();
    ask();
    await until(() => answers.length === 1);
    expect(answers[0]?.rpc["error"]).toMatchObject({ code: -32603, message: "The client cannot be asked now." });
    const asked = (): AuditEvent | undefined => gateway.audit().find(({ type }) => type === "asked");
    await until(() => asked() !== undefined);
    expect(JSON.stringify(asked())).toContain('"undeliverable"');
    call.stream.close();
  });
});
