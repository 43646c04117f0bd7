import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "../setup/free-port.ts";

export interface Everything {
  readonly url: string;
  close(): Promise<void>;
}

const entry = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

/** A test file whose set-up fails closes nothing, and its process ends without a word: the pipe ends with it. */
const endsWithItsParent = "data:text/javascript,process.stdin.resume().on('end',()=>process.exit())";

/** The specification's own example server in a process of its own, over Streamable HTTP. */
export async function spawnEverything(): Promise<Everything> {
  const port = await freePort();
  const child = spawn(process.execPath, ["--import", endsWithItsParent, entry, "streamableHttp"], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["pipe", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => {
      reject(new Error(`server-everything ended: ${said}`));
    });
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
      if (said.includes("listening on port")) resolve();
    });
  });
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
