import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDocument } from "yaml";
import { startGateway } from "../../src/compose.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/load.ts";
import { startCrm } from "./crm.ts";
import type { Upstream } from "./serve-upstream.ts";
import { startTickets, type Tickets } from "./tickets.ts";

export interface Ports {
  readonly gateway: number;
  readonly operations: number;
  readonly tickets: number;
  readonly crm: number;
}

/** As `sallyport.yaml` has them. */
export const usualPorts: Ports = { gateway: 8080, operations: 9464, tickets: 9101, crm: 9102 };

/** For tests and machines where the usual ones are taken. */
export const anyPorts: Ports = { gateway: 0, operations: 0, tickets: 0, crm: 0 };

export interface StartOptions {
  /** 0 takes a free port. */
  readonly ports?: Ports;
  /** The upstreams hide text in descriptions and results and break their own schemas. */
  readonly badManners?: boolean;
  /** Where the evidence goes. Absent: a new folder under the system's temporary one, which `stop` removes. */
  readonly folder?: string;
}

export interface Quickstart {
  readonly publicUrl: string;
  /** The MCP endpoint of the one server, `support`. */
  readonly serverUrl: string;
  readonly operationsUrl: string;
  readonly tickets: Tickets;
  readonly crm: Upstream;
  /** Who can sign in, by username. */
  readonly passwords: Readonly<Record<"alice" | "bob", string>>;
  readonly evidencePath: string;
  /** The configuration of this run, whose secrets `quickstartSecrets` are. */
  readonly configPath: string;
  /** The gateway's own log, a JSON object a line. */
  readonly logLines: readonly string[];
  stop(): Promise<void>;
}

const file = fileURLToPath(new URL("sallyport.yaml", import.meta.url));

/** For a demonstration on this machine only; a real installation makes its own. */
export const quickstartSecrets: Readonly<Record<string, string>> = {
  QUICKSTART_ALICE_PASSWORD: "alice-demo-password",
  QUICKSTART_BOB_PASSWORD: "bob-demo-password",
  QUICKSTART_CRM_KEY: "crm-demo-key",
};

/**
 * Starts both upstreams and the gateway with its authorization server in this process, as `sallyport.yaml`
 * says but for ports and the place of the evidence.
 */
export async function startQuickstart(options: StartOptions = {}): Promise<Quickstart> {
  const { ports = anyPorts, badManners = false } = options;
  const tickets = await startTickets({ port: ports.tickets, badManners });
  const crm = await startCrm({ port: ports.crm, badManners, apiKey: secret("QUICKSTART_CRM_KEY") });
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "sallyport-quickstart-"));
  const evidencePath = join(folder, "evidence.jsonl");
  const publicUrl = `http://127.0.0.1:${String(await freePort(ports.gateway))}`;
  const configPath = join(folder, "sallyport.yaml");
  const loaded = load({ publicUrl, operationsPort: ports.operations, tickets, crm, evidencePath, configPath });
  const logLines: string[] = [];
  const gateway = await startGateway(loaded, { logTo: { write: (line) => logLines.push(line) } });
  return {
    publicUrl,
    serverUrl: `${publicUrl}/support/mcp`,
    operationsUrl: gateway.addresses.operations,
    tickets,
    crm,
    passwords: { alice: secret("QUICKSTART_ALICE_PASSWORD"), bob: secret("QUICKSTART_BOB_PASSWORD") },
    evidencePath,
    configPath,
    logLines,
    stop: async () => {
      await gateway.drain();
      await Promise.all([tickets.close(), crm.close()]);
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function secret(name: string): string {
  return quickstartSecrets[name] ?? "";
}

/** The file as it stands, with the addresses of this run; it stays beside the evidence, for commands that want both. */
function load(of: {
  publicUrl: string;
  operationsPort: number;
  tickets: Upstream;
  crm: Upstream;
  evidencePath: string;
  configPath: string;
}): LoadedConfig {
  const document = parseDocument(readFileSync(file, "utf8"));
  document.set("publicUrl", of.publicUrl);
  document.setIn(["allowedOrigins", 0], of.publicUrl);
  document.setIn(["listen", "port"], Number(new URL(of.publicUrl).port));
  document.setIn(["operations", "port"], of.operationsPort);
  document.setIn(["upstreams", "tickets", "url"], of.tickets.url);
  document.setIn(["upstreams", "crm", "url"], of.crm.url);
  document.setIn(["audit", "sinks", 0, "file", "path"], of.evidencePath);
  document.set("policies", join(dirname(file), "policies"));
  const text = document.toString();
  writeFileSync(of.configPath, text);
  const loaded = loadConfig({
    text,
    path: of.configPath,
    env: (name) => quickstartSecrets[name],
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (loaded.ok) return loaded;
  throw new Error(loaded.faults.map(({ path, found, expected }) => `${path}: ${found}, not ${expected}`).join("\n"));
}

/** The gateway has to know its own port before it listens, because every URL it publishes names it. */
async function freePort(wanted: number): Promise<number> {
  if (wanted !== 0) return wanted;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  return port;
}
