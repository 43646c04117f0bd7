import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { startGateway } from "../../src/compose.ts";
import { loadConfig } from "../../src/config/load.ts";
import { runAuthorizationSuite } from "./suite-authorization.ts";
import type { Scenario } from "./suite.ts";
import { freePort } from "../setup/free-port.ts";

const password = "a password for one run";

/** The suite against the built-in authorization server of a whole gateway, with one person and one application. */
export async function judgeAuthorizationServer(): Promise<readonly Scenario[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-conformance-authorization-"));
  const [port, operations, callback] = [await freePort(), await freePort(), await freePort()];
  const issuer = `http://127.0.0.1:${port}`;
  mkdirSync(join(folder, "policies"));
  writeFileSync(join(folder, "policies", "nobody.yaml"), stringify({ policy: "nobody", rules: [nobody] }));
  const loaded = loadConfig({
    text: stringify(configOf(port, operations, `http://127.0.0.1:${callback}/callback`)),
    path: join(folder, "sallyport.yaml"),
    env: (name) => (name === "PASSWORD" ? password : undefined),
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (!loaded.ok) throw new Error(`The gateway's configuration is wrong: ${JSON.stringify(loaded.faults)}`);
  const running = await startGateway(loaded, { logTo: { write: () => undefined } });
  try {
    const resource = `${issuer}/desk/mcp`;
    return await runAuthorizationSuite({ issuer, resource, clientId: "suite", username: "ada", password }, callback);
  } finally {
    await running.drain();
    rmSync(folder, { recursive: true, force: true });
  }
}

const nobody = { id: "nobody", effect: "deny", who: { anyone: true }, what: { anything: true } };

/** Nobody calls anything here, so the upstream need not be there. */
function configOf(port: number, operations: number, redirectUri: string): object {
  return {
    publicUrl: `http://127.0.0.1:${port}`,
    listen: { host: "127.0.0.1", port },
    operations: { host: "127.0.0.1", port: operations },
    auth: {
      builtIn: {
        users: [{ username: "ada", password: "${env:PASSWORD}" }],
        clients: [{ clientId: "suite", name: "The suite", redirectUris: [redirectUri] }],
      },
    },
    upstreams: { desk: { url: "http://127.0.0.1:9/mcp", addresses: "loopback" } },
    servers: { desk: { upstreams: { desk: {} } } },
    policies: "./policies",
    audit: { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }] },
    store: { memory: true },
  };
}
