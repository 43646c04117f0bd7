import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Report } from "./subjects/report.ts";

/** A server under measurement, in a process of its own. */
export interface Subject {
  readonly port: number;
  /** Processor time of its process so far, user and system, in µs. */
  cpuUs(): Promise<number>;
  stop(): void;
}

export interface SubjectOptions {
  readonly args?: readonly string[];
  /** Arguments of Node itself, such as `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
}

/** Starts a program of `subjects/` and waits until it listens. */
export async function startSubject(program: string, options: SubjectOptions = {}): Promise<Subject> {
  const child = fork(program, [...(options.args ?? [])], {
    execArgv: [...(options.nodeArgs ?? [])],
    // The gateway's log is written, as in production, to a pipe that somebody reads.
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  child.stdout?.resume();
  const first = await nextReport(child);
  if (first.kind !== "listening") throw new Error(`${program} did not say where it listens`);
  return {
    port: first.port,
    cpuUs: async () => {
      const report = nextReport(child);
      child.send("cpu");
      const answer = await report;
      return answer.kind === "cpu" ? answer.us : Number.NaN;
    },
    stop: () => {
      child.disconnect();
    },
  };
}

function nextReport(child: ChildProcess): Promise<Report> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => {
      reject(new Error(`a subject ended with ${String(code)}`));
    };
    child.once("exit", ended);
    child.once("message", (report) => {
      child.off("exit", ended);
      resolve(report as Report);
    });
  });
}
