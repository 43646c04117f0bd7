import type { LoadedConfig } from "../config/load.ts";
import { reportFaults, reportWarnings } from "./check.ts";
import { loadConfigFile, type Environment } from "./load-file.ts";
import { shown, type ExitCode, type Output } from "./output.ts";

/** A gateway that runs. `drain` refuses new requests, lets running ones end, then closes everything. */
export interface RunningGateway {
  readonly addresses: { readonly public: string; readonly operations: string };
  drain(): Promise<void>;
  /** Reads policies and lock anew, and puts them in force unless they are broken. */
  reload(): Promise<void>;
}

/** What serving needs of the process and of `compose.ts`, which this room does not know. */
export interface ServeRim {
  readonly start: (loaded: LoadedConfig) => Promise<RunningGateway>;
  /** Calls back on each SIGTERM and SIGINT. */
  readonly onStopSignal: (stop: () => void) => void;
  /** Calls back on each SIGHUP. */
  readonly onReloadSignal: (reload: () => void) => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Calls back after a while, without keeping the process alive for it. */
  readonly after: (ms: number, then: () => void) => void;
}

/**
 * `sallyport serve`: resolves once the gateway listens, with undefined, or with an exit code when it does not
 * start. The first stop signal drains and ends with 0; a second one, or a drain that takes longer than
 * `limits.drainMs` and a second, ends at once with 1.
 */
export async function serve(
  file: string,
  env: Environment,
  output: Output,
  rim: ServeRim,
): Promise<ExitCode | undefined> {
  const read = loadConfigFile(file, env);
  if (!read.ok) {
    reportFaults(file, read.faults, output);
    return 1;
  }
  reportWarnings(read, output);
  const gateway = await rim.start(read);
  output.out(shown(`Serving on ${gateway.addresses.public}, operations on ${gateway.addresses.operations}`));
  rim.onReloadSignal(() => void gateway.reload());
  stopOnSignal(gateway, read.config.limits.drainMs, rim, output);
  return undefined;
}

/** What `drain` closes comes after the running requests, and gets this much longer. */
const closingMs = 1_000;

function stopOnSignal(gateway: RunningGateway, drainMs: number, rim: ServeRim, output: Output): void {
  let stopping = false;
  rim.onStopSignal(() => {
    if (stopping) {
      rim.exit(1);
      return;
    }
    stopping = true;
    output.out(`Stopping: running requests have ${drainMs} ms`);
    rim.after(drainMs + closingMs, () => {
      rim.exit(1);
    });
    gateway.drain().then(
      () => {
        rim.exit(0);
      },
      () => {
        output.err("Stopping failed");
        rim.exit(1);
      },
    );
  });
}
