import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

export interface RedisUnderTest {
  readonly url: string;
  readonly port: number;
  /** The process stops where it is: connections stand, nothing answers (a black hole). */
  pause(): void;
  resume(): void;
  /** Ends it as a crash does, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port after `kill`, empty. */
  restart(): Promise<void>;
  /** Sends one inline command, such as `CONFIG SET maxmemory 1mb`, and returns the first line of the answer. */
  command(text: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a real Redis of the test's own on a free port of 127.0.0.1; `stop` ends that process and no other. */
export async function startRedis(extraArguments: readonly string[] = []): Promise<RedisUnderTest> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-redis-"));
  let child = await launch(port, folder, extraArguments);

  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    kill: end,
    restart: async () => {
      child = await launch(port, folder, extraArguments);
    },
    command: (text) => inline(port, text),
    stop: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(port: number, folder: string, extraArguments: readonly string[]): Promise<ChildProcess> {
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", [...fixed, ...extraArguments], { stdio: "ignore" });
  const failed = once(child, "exit").then(() => Promise.reject(new Error("redis-server ended at its start")));
  failed.catch(() => undefined);
  await Promise.race([untilItAnswers(port), failed]);
  return child;
}

async function untilItAnswers(port: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const answer = await inline(port, "PING").catch(() => "");
    if (answer === "+PONG" || answer.startsWith("-NOAUTH")) return;
    await new Promise((resume) => setTimeout(resume, 25));
  }
  throw new Error("redis-server did not answer within ten seconds");
}

function inline(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${text}\r\n`));
    socket.once("data", (data) => {
      resolve(data.toString().split("\r\n")[0] ?? "");
      socket.destroy();
    });
    socket.once("error", reject);
  });
}
