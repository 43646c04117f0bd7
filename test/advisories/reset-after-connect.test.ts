// A stranger must not be able to end the process, or to keep connections for ever, by asking for a tunnel.
import { connect } from "node:net";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await startGatewayUnderTest({ upstreams: { u: upstream.url }, servers: { s: { u: "" } } });
});
afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

const tunnel = "CONNECT example.test:443 HTTP/1.1\r\nhost: example.test\r\n\r\n";

/** A peer that ignores the other side's FIN. */
function stubborn(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ port: gateway.port, host: "127.0.0.1", allowHalfOpen: true }, () => {
      resolve(socket);
    });
    socket.on("error", () => undefined);
  });
}

describe("a stranger who asks for a tunnel", () => {
  it("and resets the connection at any moment leaves the gateway serving", async () => {
    const uncaught: Error[] = [];
    const note = (error: Error): void => void uncaught.push(error);
    process.on("uncaughtException", note);
    for (let round = 0; round < 40; round += 1) {
      const socket = await stubborn();
      socket.write(tunnel);
      await new Promise((resolve) => (round % 2 === 0 ? setImmediate(resolve) : socket.once("data", resolve)));
      socket.resetAndDestroy();
    }
    const after = await fetch(`${gateway.publicUrl}/.well-known/oauth-protected-resource/s/mcp`);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("uncaughtException", note);
    expect(uncaught).toEqual([]);
    expect(after.status).toBe(200);
  });

  it("and never hangs up is hung up on", async () => {
    const socket = await stubborn();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(tunnel);
    const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 .*HTTP_MALFORMED/s);
    // A write to a connection that the other side has left is answered with a reset.
    const knock = setInterval(() => socket.write("x"), 20);
    await closed;
    clearInterval(knock);
  });
});
