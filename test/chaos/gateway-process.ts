import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { trusted } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";

/** The gateway as operators run it: a process of its own. */
export interface GatewayProcess {
  readonly port: number;
  readonly operationsPort: number;
  /** What it wrote so far, log and errors. */
  readonly output: string[];
  /** SIGHUP. */
  hangUp(): void;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Asks it to drain, and ends it when it does not within ten seconds. */
  stop(): Promise<void>;
}

export interface FleetOptions {
  readonly issuer: IssuerUnderTest;
  readonly redisUrl: string;
  readonly upstreams: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Rules of the one policy; absent: everybody may do everything. */
  readonly rules?: readonly object[];
}

export interface Fleet {
  readonly publicUrl: string;
  /** Replaces the rules of the one policy. */
  write(rules: readonly object[]): void;
  start(): Promise<GatewayProcess>;
  remove(): void;
}

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const allowEverything = [{ id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } }];

/** Gateways of one deployment: one public URL, one store, one set of keys, one server `all` over all upstreams. */
export async function planFleet(options: FleetOptions): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-fleet-"));
  const publicPort = await freePort();
  const publicUrl = `http://127.0.0.1:${publicPort}`;
  mkdirSync(join(folder, "policies"));
  const write = (rules: readonly object[]): void => {
    writeFileSync(join(folder, "policies", "all.yaml"), JSON.stringify({ policy: "all", rules }));
  };
  write(options.rules ?? allowEverything);
  let count = 0;
  return {
    publicUrl,
    write,
    start: async () => {
      count += 1;
      const ports = { port: await freePort(), operationsPort: await freePort() };
      const file = join(folder, `gateway-${count}.yaml`);
      writeFileSync(file, JSON.stringify(configOf(options, { ...ports, publicUrl, publicPort, count })));
      return launch(file, options.redisUrl, ports);
    },
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly port: number;
  readonly operationsPort: number;
  readonly publicUrl: string;
  readonly publicPort: number;
  readonly count: number;
}

function configOf(options: FleetOptions, place: Place): Record<string, unknown> {
  const { issuer, upstreams } = options;
  const { port, operationsPort, publicUrl, publicPort, count } = place;
  return {
    publicUrl,
    listen: { host: "127.0.0.1", port },
    operations: { host: "127.0.0.1", port: operationsPort },
    allowedHosts: [`127.0.0.1:${publicPort}`, `127.0.0.1:${port}`],
    auth: { issuers: [trusted(issuer)] },
    store: { redis: { url: "${env:REDIS_URL}" } },
    keys: { session: "${env:SESSION_KEY}" },
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([name, url]) => [name, { url, addresses: "loopback" }]),
    ),
    servers: {
      all: {
        upstreams: Object.fromEntries(Object.keys(upstreams).map((name) => [name, { prefix: `${name}_` }])),
      },
    },
    policies: "./policies",
    audit: { mode: "required", sinks: [{ file: { path: `./audit-${count}.jsonl` } }] },
    ...options.config,
  };
}

async function launch(
  file: string,
  redisUrl: string,
  { port, operationsPort }: { readonly port: number; readonly operationsPort: number },
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", main, "serve", file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, REDIS_URL: redisUrl, SESSION_KEY: "0123456789abcdef0123456789abcdef0123456789abcdef" },
  });
  const output: string[] = [];
  child.stdout.on("data", (bytes: Buffer) => output.push(bytes.toString()));
  child.stderr.on("data", (bytes: Buffer) => output.push(bytes.toString()));
  await untilReady(child, operationsPort, output);
  return {
    port,
    operationsPort,
    output,
    hangUp: () => void child.kill("SIGHUP"),
    kill: () => end(child, "SIGKILL"),
    stop: async () => {
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await end(child, "SIGTERM");
      clearTimeout(late);
    },
  };
}

async function untilReady(child: ChildProcess, operationsPort: number, output: readonly string[]): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`the gateway ended at its start: ${output.join("")}`);
    const ready = await fetch(`http://127.0.0.1:${operationsPort}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the gateway was not ready within a minute: ${output.join("")}`);
}

async function end(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}
