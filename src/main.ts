#!/usr/bin/env node
import process, { env as environment } from "node:process";
import { readArguments, usage, type Command } from "./cli/arguments.ts";
import type { MeasureCosts } from "./cli/budget.ts";
import { catalog } from "./cli/catalog.ts";
import { check } from "./cli/check.ts";
import { failureLines } from "./cli/failure-lines.ts";
import { grant } from "./cli/grant.ts";
import { shown, type ExitCode, type Output } from "./cli/output.ts";
import { offboard, readmit } from "./cli/offboard.ts";
import { serve, type ServeRim } from "./cli/serve.ts";
import { token } from "./cli/token.ts";
import { verify } from "./cli/verify.ts";
import { why } from "./cli/why.ts";
import { version } from "./model/version.ts";

const output: Output = {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
};

// `sallyport why … | head`: who reads has enough, and that is no failure. What is written later is lost as well.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** The only reading of the environment: configuration names the variables it wants. */
const env = (name: string): string | undefined => environment[name];

const rim: ServeRim = {
  // Loaded here, so that `check` and `why` start without the HTTP server and its dependencies.
  start: async (loaded) => (await import("./compose.ts")).startGateway(loaded),
  onStopSignal: (stop) => {
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  },
  onReloadSignal: (reload) => {
    process.on("SIGHUP", reload);
  },
  exit: (code) => process.exit(code),
  after: (ms, then) => {
    setTimeout(then, ms).unref();
  },
};

/** Loaded here too, as it brings along what reads upstreams. */
const measure: MeasureCosts = async (...asked) => (await import("./compose-costs.ts")).measureCosts(...asked);

async function run(command: Command): Promise<ExitCode | undefined> {
  if ("order" in command) return runLoading(command);
  switch (command.command) {
    case "serve":
      return serve(command.file, env, output, rim);
    case "check":
      return check(command, { env, output, measure });
    case "why":
      return why(command, env, output);
    case "verify":
      return verify(command.file, output);
    case "version":
      output.out(`sallyport ${version}`);
      return 0;
    case "help":
      process.stdout.write(usage);
      return 0;
    case "misused":
      output.err(shown(command.message));
      process.stderr.write(usage);
      return 2;
  }
}

type LoadingCommand = Extract<Command, { command: "token" | "grant" | "offboard" | "readmit" | "catalog" | "policy" }>;

/** Each loads what it needs, the store for most, which no other command waits for. */
async function runLoading(command: LoadingCommand): Promise<ExitCode> {
  switch (command.command) {
    case "token": {
      const { openTokenRecords } = await import("./compose-token-records.ts");
      return token(command, env, output, openTokenRecords);
    }
    case "grant": {
      const { openGrantDesk } = await import("./compose-grant-desk.ts");
      return grant(command.order, env, output, openGrantDesk);
    }
    case "offboard":
    case "readmit": {
      const { openOffboarding } = await import("./compose-offboarding.ts");
      const carryOut = command.command === "offboard" ? offboard : readmit;
      return carryOut(command.order, env, output, openOffboarding);
    }
    case "catalog": {
      const { openLiveCatalogs } = await import("./compose-live-catalogs.ts");
      return catalog(command.order, { env, output, now: Date.now, open: openLiveCatalogs });
    }
    case "policy": {
      const { shownItems } = await import("./compose-shown-items.ts");
      const { policy } = await import("./cli/policy.ts");
      return policy(command, { env, output, now: Date.now, shownItems });
    }
  }
}

try {
  process.exitCode = await run(readArguments(process.argv.slice(2)));
} catch (error) {
  // Whatever reaches this is a broken dependency (a port in use, a store that is down at start) or our own fault.
  for (const line of failureLines(error)) output.err(shown(line));
  process.exit(1);
}
