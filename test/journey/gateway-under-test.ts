import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JWTPayload } from "jose";
import type { AuditEvent } from "../../src/audit/event.ts";
import { startGateway } from "../../src/compose.ts";
import type { RunningGateway } from "../../src/compose.ts";
import { loadConfig } from "../../src/config/load.ts";
import { mockIssuer, sign, signer } from "../auth/mock-issuer.ts";
import type { MockIssuer, Signer } from "../auth/mock-issuer.ts";
import { freePort } from "../setup/free-port.ts";

/** An external authorization server on loopback that signs whatever claims it is told to. */
export interface IssuerUnderTest {
  readonly origin: string;
  readonly http: MockIssuer;
  readonly key: Signer;
  /** A good token for `audience`, with claims changed or, when undefined, left out. */
  mint(audience: string, claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export async function startIssuer(alg = "ES256"): Promise<IssuerUnderTest> {
  const key = await signer("current", alg);
  const http = await mockIssuer();
  http.places.set("/jwks", { keys: [key.jwk] });
  const mint: IssuerUnderTest["mint"] = (audience, claims = {}, header = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const good = { iss: http.origin, sub: "alice", client_id: "desktop", aud: audience, iat: now, exp: now + 600 };
    return sign(key, { ...good, groups: ["everyone"], ...claims }, header);
  };
  return { origin: http.origin, http, key, mint, close: () => http.close() };
}

export interface GatewayOptions {
  /** Absent: nobody signs in. */
  readonly issuer?: IssuerUnderTest;
  /** By name: the URL, or a whole block of configuration. */
  readonly upstreams: Readonly<Record<string, string | Readonly<Record<string, unknown>>>>;
  /** By name: which upstreams, each under its prefix. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Rules of the one policy; absent: everybody may do everything. */
  readonly rules?: readonly Readonly<Record<string, unknown>>[];
  /** Keys of the configuration that replace what stands here. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly redisUrl?: string;
  /** Two instances of one deployment share their public URL. */
  readonly publicPort?: number;
  readonly sessionKey?: string;
}

export interface GatewayUnderTest {
  readonly publicUrl: string;
  /** Where this instance listens; not the public port when several share that. */
  readonly port: number;
  readonly host: string;
  readonly folder: string;
  /** What configuration and secrets are read from the environment. */
  readonly env: (name: string) => string | undefined;
  /** Lines of the gateway's own log so far. */
  readonly log: string[];
  readonly running: RunningGateway;
  /** The identifier, hence the audience, of a server. */
  resource(server: string): string;
  /** What the evidence file holds so far. */
  audit(): AuditEvent[];
  auditText(): string;
  metrics(): Promise<string>;
  /** Stops it, once, and keeps its evidence readable until `remove`. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

const allowEverything = [{ id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } }];

/** The composed gateway in this process: real sockets, real files, and the log in memory. */
export async function startGatewayUnderTest(options: GatewayOptions): Promise<GatewayUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-journey-"));
  const port = await freePort();
  const publicPort = options.publicPort ?? port;
  const publicUrl = `http://127.0.0.1:${publicPort}`;
  const log: string[] = [];
  writePolicy(folder, options.rules ?? allowEverything);
  const path = join(folder, "sallyport.yaml");
  // YAML 1.2 holds JSON. Commands that a test carries out read the file.
  const text = JSON.stringify(configOf(options, { port, publicUrl, publicPort }));
  writeFileSync(path, text);
  const loaded = loadConfig({
    text,
    path,
    env: (name) => envOf(options)[name],
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (!loaded.ok) throw new Error(`the test's configuration is wrong: ${JSON.stringify(loaded.faults)}`);
  const running = await startGateway(loaded, { logTo: { write: (line) => void log.push(line) } });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= running.drain());
  const auditText = (): string => readFileSync(join(folder, "audit.jsonl"), "utf8");
  return {
    publicUrl,
    port,
    host: `127.0.0.1:${port}`,
    folder,
    env: (name) => envOf(options)[name],
    log,
    running,
    resource: (server) => `${publicUrl}/${server}/mcp`,
    auditText,
    audit: () => linesOf(auditText()),
    metrics: async () => (await fetch(`${running.addresses.operations}/metrics`)).text(),
    stop,
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function linesOf(text: string): AuditEvent[] {
  // The last line may still be on its way into the file.
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditEvent);
}

function writePolicy(folder: string, rules: readonly unknown[]): void {
  mkdirSync(join(folder, "policies"));
  writeFileSync(join(folder, "policies", "test.yaml"), JSON.stringify({ policy: "test", rules }));
}

const processSessionKey = randomBytes(32).toString("hex");

function envOf({ env = {}, redisUrl = "", sessionKey = processSessionKey }: GatewayOptions): Record<string, string> {
  return { REDIS_URL: redisUrl, SESSION_KEY: sessionKey, ...env };
}

interface Place {
  readonly port: number;
  readonly publicUrl: string;
  readonly publicPort: number;
}

function configOf(options: GatewayOptions, { port, publicUrl, publicPort }: Place): Record<string, unknown> {
  const { issuer, redisUrl } = options;
  return {
    publicUrl,
    listen: { host: "127.0.0.1", port },
    operations: { host: "127.0.0.1", port: 0 },
    allowedHosts: [...new Set([`127.0.0.1:${publicPort}`, `127.0.0.1:${port}`])],
    auth: issuer === undefined ? { none: true } : { issuers: [trusted(issuer)] },
    upstreams: Object.fromEntries(
      Object.entries(options.upstreams).map(([name, upstream]) => [
        name,
        { addresses: "loopback", ...(typeof upstream === "string" ? { url: upstream } : upstream) },
      ]),
    ),
    servers: Object.fromEntries(
      Object.entries(options.servers).map(([name, parts]) => [
        name,
        { upstreams: Object.fromEntries(Object.entries(parts).map(([part, prefix]) => [part, { prefix }])) },
      ]),
    ),
    policies: "./policies",
    audit: { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }] },
    store: redisUrl === undefined ? { memory: true } : { redis: { url: "${env:REDIS_URL}" } },
    keys: { session: "${env:SESSION_KEY}" },
    ...options.config,
  };
}

export function trusted({ origin }: IssuerUnderTest): Record<string, unknown> {
  return {
    alias: "corp",
    issuer: origin,
    jwksUri: `${origin}/jwks`,
    addresses: "loopback",
    groupsClaim: "groups",
  };
}

/** Waits until `holds`; the test's own timeout ends it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
