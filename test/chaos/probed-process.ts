import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { GatewayOptions } from "../journey/gateway-under-test.ts";

/** What a process holds, after a collection of garbage. */
export interface Figures {
  /** Of the heap, and of buffers outside it. */
  readonly bytes: number;
  /** Timers that are due some time, those apart that keep nobody from ending. */
  readonly timers: number;
  readonly sockets: number;
}

export interface ProbedProcess {
  readonly port: number;
  resource(server: string): string;
  measure(): Promise<Figures>;
  stop(): Promise<void>;
}

/** Starts the composed gateway in a process of its own that can be measured. */
export async function startProbedGateway(
  options: Omit<GatewayOptions, "issuer"> & { readonly issuer: { readonly origin: string } },
): Promise<ProbedProcess> {
  const child = fork(fileURLToPath(new URL("probed-gateway.ts", import.meta.url)), [JSON.stringify(options)], {
    execArgv: ["--expose-gc", "--import", "tsx"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the gateway ended by itself")));
  failed.catch(() => undefined);
  const next = async (): Promise<unknown> => {
    const [message] = (await Promise.race([once(child, "message"), failed])) as [unknown];
    return message;
  };
  const { port, publicUrl } = (await next()) as { port: number; publicUrl: string };
  return {
    port,
    resource: (server) => `${publicUrl}/${server}/mcp`,
    measure: async () => {
      const answer = next();
      child.send("measure");
      return (await answer) as Figures;
    },
    stop: async () => {
      if (child.exitCode !== null) return;
      const gone = once(child, "exit");
      child.send("stop");
      await gone;
    },
  };
}
