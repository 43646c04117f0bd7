import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { startGateway } from "../../src/compose.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Fixture } from "./fixture-http.ts";
import { freePort } from "../setup/free-port.ts";

/** What of the gateway differs from scenario to scenario. */
export interface GatewaySetting {
  readonly heldArguments?: "enforce" | "warn";
  /** What the gateway shows the server, as its configuration has it. */
  readonly credential?: Readonly<Record<string, unknown>>;
  /** Variables that `credential` refers to. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A gateway in front of one server, as the suite needs it: nobody signs in, names stay as they are, and
 * policy allows everything. All else is as it comes, unless the setting says otherwise.
 */
export async function startGatewayBefore(
  upstreamUrl: string,
  { heldArguments = "enforce", credential, env = {} }: GatewaySetting = {},
): Promise<Fixture> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-conformance-gateway-"));
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const text = stringify({
    publicUrl,
    listen: { host: "127.0.0.1", port },
    operations: { host: "127.0.0.1", port: await freePort() },
    auth: { none: true },
    upstreams: {
      fixture: {
        url: upstreamUrl,
        addresses: "loopback",
        schema: { arguments: heldArguments },
        ...(credential === undefined ? {} : { credential }),
      },
    },
    servers: { fixture: { upstreams: { fixture: {} } } },
    policies: "./policies",
    audit: { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }] },
    store: { memory: true },
  });
  mkdirSync(join(folder, "policies"));
  writeFileSync(join(folder, "policies", "everybody.yaml"), stringify(everybody));
  const loaded = loadConfig({
    text,
    path: join(folder, "sallyport.yaml"),
    env: (name) => env[name],
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (!loaded.ok) throw new Error(`The gateway's configuration is wrong: ${JSON.stringify(loaded.faults)}`);
  const running = await startGateway(loaded, { logTo: { write: () => undefined } });
  return {
    url: `${publicUrl}/fixture/mcp`,
    close: async () => {
      await running.drain();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const everybody = {
  policy: "everybody",
  rules: [{ id: "everything", effect: "allow", who: { anyone: true }, what: { anything: true } }],
};
