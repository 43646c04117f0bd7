import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalog, type CatalogOrder } from "../../src/cli/catalog.ts";
import { openLiveCatalogs } from "../../src/compose-live-catalogs.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Received } from "./http-client.ts";
import { startListeningUpstream, tool } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";
import { legacyCall, modernCall, openSession } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

export type Era = "legacy" | "modern";

export interface LockScene {
  readonly gateway: GatewayUnderTest;
  readonly issuer: IssuerUnderTest;
  readonly upstream: ListeningUpstream;
  readonly lockPath: string;
  /** Carries out `sallyport catalog` on the lock, with what the upstream offers now. */
  readonly command: (wanted: CatalogOrder["wanted"]) => Promise<void>;
  close(): Promise<void>;
}

export interface LockSceneOptions extends Partial<GatewayOptions> {
  readonly upstreamEra?: Era;
  /** Of the upstream's block in the configuration. */
  readonly upstream?: Readonly<Record<string, unknown>>;
  /** Beside the file. */
  readonly webhook?: Readonly<Record<string, unknown>>;
  /** Answers before the upstream does. */
  readonly first?: Parameters<typeof startListeningUpstream>[1] extends { first?: infer F } | undefined ? F : never;
}

/** As long as nobody changes it, the upstream offers what the lock approves. */
export async function startLocked(options: LockSceneOptions = {}): Promise<LockScene> {
  const { upstreamEra = "modern", upstream: more = {}, webhook, first, config = {}, ...rest } = options;
  const folder = mkdtempSync(join(tmpdir(), "sallyport-lock-"));
  const lockPath = join(folder, "catalog.lock.json");
  const upstream = await startListeningUpstream(upstreamEra, first === undefined ? {} : { first });
  upstream.items.tool.push(tool("export"), tool("other"));
  upstream.items.template.push({ uriTemplate: "test://t/{id}", name: "t" });
  const alpha = { url: upstream.url, addresses: "loopback", ...more };
  const command = (wanted: CatalogOrder["wanted"]): Promise<void> =>
    runCatalog({ folder, lockPath, url: upstream.url }, wanted);
  await command({ does: "update", by: "ada", reason: "Reviewed." });
  const issuer = await startIssuer();
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha },
    servers: { alpha: { alpha: "" } },
    ...rest,
    config: { catalogLock: { file: lockPath, ...(webhook === undefined ? {} : { webhook }) }, ...config },
  });
  const close = async (): Promise<void> => {
    await gateway.remove();
    await upstream.close();
    await issuer.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { gateway, issuer, upstream, lockPath, command, close };
}

/** The command reads lists on the gateway's own account, which is all that it shares with a gateway that serves. */
async function runCatalog(
  at: { readonly folder: string; readonly lockPath: string; readonly url: string },
  wanted: CatalogOrder["wanted"],
): Promise<void> {
  const path = join(at.folder, "command.yaml");
  const text = JSON.stringify({
    publicUrl: "http://127.0.0.1:8080",
    auth: { none: true },
    upstreams: { alpha: { url: at.url, addresses: "loopback" } },
    servers: { alpha: { upstreams: { alpha: {} } } },
    catalogLock: at.lockPath,
  });
  writeFileSync(path, text);
  const said: string[] = [];
  const output = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
  const order = {
    config: path,
    upstream: wanted.does === "approve" ? "alpha" : undefined,
    definitions: new Map(),
    wanted,
  };
  const rim = { env: () => undefined, output, now: Date.now, open: openLiveCatalogs };
  if ((await catalog(order, rim)) !== 0) throw new Error(said.join("\n"));
}

export interface LockCaller {
  readonly caller: Caller;
  readonly ask: (method: string, params?: Record<string, unknown>) => Promise<Received>;
}

/** Somebody of this client era. */
export async function someone({ gateway, issuer }: LockScene, era: Era, claims = {}): Promise<LockCaller> {
  const caller: Caller = { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha"), claims) };
  if (era === "modern") return { caller, ask: (method, params) => modernCall(caller, method, params) };
  const inSession = await openSession(caller);
  return { caller: inSession, ask: (method, params) => legacyCall(inSession, method, params) };
}

export async function toolsOf({ ask }: LockCaller): Promise<readonly string[]> {
  const { json } = await ask("tools/list");
  const result = json["result"] as { tools?: { name: string }[] } | undefined;
  return (result?.tools ?? []).map(({ name }) => name);
}

export const listChanged = "notifications/tools/list_changed";
