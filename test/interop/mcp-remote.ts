import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import type { Login } from "../../deploy/quickstart/person.ts";

const entry = fileURLToPath(new URL("../../node_modules/mcp-remote/dist/proxy.js", import.meta.url));
const noBrowser = new URL("no-browser.mjs", import.meta.url).href;

/** mcp-remote between a desktop application and the gateway: a process of its own that speaks stdio to one side. */
export interface Remote {
  /** The application, which knows of no network. */
  readonly client: Client;
  /** Where mcp-remote has sent the person to sign in, in order. */
  readonly visits: readonly URL[];
  /** What it said on stderr so far. */
  said(): string;
  close(): Promise<void>;
}

export interface RemoteOptions {
  /** Who signs in wherever it would have opened a browser. */
  readonly login?: Login;
  readonly options?: readonly string[];
  /** The application; absent: one that can be asked nothing. */
  readonly client?: Client;
}

/** Starts it with nothing but the server's URL. */
export async function startRemote(
  url: string,
  { login, options = [], client = plain() }: RemoteOptions,
): Promise<Remote> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-mcp-remote-"));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["--import", noBrowser, entry, url, "--transport", "http-only", ...options],
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: "pipe",
  });
  const visits: URL[] = [];
  let said = "";
  let failure = "nobody failed to sign in";
  transport.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
    for (const [, place] of said.matchAll(/^browser: (\S+)\n/gm)) {
      if (place === undefined || visits.some(({ href }) => href === place)) continue;
      visits.push(new URL(place));
      if (login !== undefined) visit(place, login).catch((error: unknown) => (failure = String(error)));
    }
  });
  const close = async (): Promise<void> => {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await client.connect(transport);
  } catch (cause) {
    await close();
    throw new Error(`mcp-remote did not connect (${failure}): ${said}`, {
      cause,
    });
  }
  return { client, visits, said: () => said, close };
}

function plain(): Client {
  return new Client({ name: "desktop", version: "1.0.0" });
}

/** The person's browser: signs in, and follows the redirect to the port on which mcp-remote waits. */
async function visit(place: string, login: Login): Promise<void> {
  const back = await signInHeadlessly({ authorizationUrl: place, ...login });
  const answer = await fetch(back);
  await answer.arrayBuffer();
}
