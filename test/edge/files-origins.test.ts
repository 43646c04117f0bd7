import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../setup/free-port.ts";
import { send, type Received } from "../journey/http-client.ts";
import { refusalIn } from "../journey/wire-client.ts";
import { startFilesBench, type FilesBench } from "./files-bench.ts";

let bench: FilesBench;
afterEach(() => bench.close());

const file = "/files/support/crm/reports/7.pdf";

async function ask(path: string, host: string, method = "GET"): Promise<Received> {
  const headers = { authorization: `Bearer ${await bench.token()}`, host };
  return send({ port: bench.gateway.port, path, method, headers });
}

describe("files on an origin of their own", () => {
  const filesHost = "files.localhost:9000";
  const start = async (): Promise<void> => {
    bench = await startFilesBench({ config: { filesUrl: `http://${filesHost}` } });
  };

  it("are served there and nowhere else", async () => {
    await start();
    expect((await ask(file, filesHost)).status).toBe(200);
    expect((await ask(file, filesHost.toUpperCase())).status).toBe(200);
    for (const host of [bench.gateway.host, "files.localhost", "localhost:9000", "canary"]) {
      const answer = await ask(file, host);
      expect([answer.status, refusalIn(answer).code]).toEqual([403, "HOST_NOT_ALLOWED"]);
    }
    expect(bench.fetched().length).toBe(2);
  });

  it.each([
    ["GET", "/files/nowhere/crm/reports/7.pdf", 404],
    ["GET", "/", 403],
    ["GET", "/sse", 403],
    ["GET", "/.well-known/oauth-protected-resource/support/mcp", 403],
    ["GET", "/.well-known/oauth-authorization-server", 403],
    ["POST", "/support/mcp", 403],
    ["GET", "/support/mcp", 403],
    ["POST", "/token", 403],
    ["GET", "/authorize", 403],
  ])("serve nothing else there: %s %s", async (method, path, status) => {
    await start();
    expect((await ask(path, filesHost, method)).status).toBe(status);
  });

  it("send whoever has no token to the server's own metadata, on the public origin", async () => {
    await start();
    const answer = await send({ port: bench.gateway.port, path: file, method: "GET", headers: { host: filesHost } });
    expect(answer.status).toBe(401);
    const metadata = `${bench.gateway.publicUrl}/.well-known/oauth-protected-resource/support/mcp`;
    expect(answer.headers["www-authenticate"]).toContain(`resource_metadata="${metadata}"`);
  });

  it("stand apart from the pages of the built-in authorization server", async () => {
    const port = await freePort();
    bench = await startFilesBench({
      config: {
        filesUrl: `http://${filesHost}`,
        auth: { builtIn: { users: [{ username: "alice", password: "${env:PASSWORD}" }] } },
        listen: { host: "127.0.0.1", port },
        publicUrl: `http://127.0.0.1:${port}`,
        allowedHosts: [`127.0.0.1:${port}`],
      },
      env: { PASSWORD: "correct horse battery staple" },
    });
    const at = (path: string, host: string): Promise<Received> =>
      send({ port, path, method: "GET", headers: { host } });
    const metadata = "/.well-known/oauth-authorization-server";
    expect((await at(metadata, `127.0.0.1:${port}`)).status).toBe(200);
    expect((await at(metadata, filesHost)).status).toBe(403);
    expect((await at("/authorize?client_id=x", filesHost)).status).toBe(403);
    expect((await at(file, filesHost)).status).toBe(401);
    expect((await at(file, `127.0.0.1:${port}`)).status).toBe(403);
  });
});

describe("files under the public origin", () => {
  it("are refused to pages of origins that are not allowed", async () => {
    bench = await startFilesBench();
    const answer = await bench.get(file, { headers: { origin: "https://evil.example" } });
    expect([answer.status, refusalIn(answer).code]).toEqual([403, "ORIGIN_NOT_ALLOWED"]);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(bench.fetched()).toEqual([]);
  });

  it("are not there when no upstream has any", async () => {
    bench = await startFilesBench({ upstream: { files: undefined } });
    for (const method of ["GET", "POST"]) {
      const answer = await bench.get(file, { method });
      expect([answer.status, refusalIn(answer).code]).toEqual([404, "ROUTE_UNKNOWN"]);
    }
  });
});
