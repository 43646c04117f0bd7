import { connectClient } from "./client-of-era.ts";
import { driveScenario, type Drive } from "./client-drives.ts";
import { asValues } from "./fixture-item.ts";
import { startGatewayBefore } from "./gateway.ts";
import { drivenMark, eraOf } from "./suite-client.ts";

/** Longest time for one scenario, before the suite gives up on the command and leaves it behind. */
const scenarioTimeoutMs = 25_000;

/**
 * The command that the suite runs for each client scenario: `client-command.ts WAY URL`, the URL being that of
 * the server it plays. With the way `through` a gateway stands before that server and the client speaks to
 * the gateway, so what the server sees is the gateway's upstream side; with `alone` the client speaks to the
 * server itself. Prints the mark of a scenario that was driven to its end, which the suite does not record.
 */
async function main([way, serverUrl]: readonly string[]): Promise<void> {
  if (serverUrl === undefined || (way !== "through" && way !== "alone")) throw new Error("Needs a way and a URL");
  const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
  const gateway =
    way === "through" ? await startGatewayBefore(serverUrl, { heldArguments: argumentsFor(scenario) }) : undefined;
  try {
    await drive(scenario, { way, serverUrl, url: gateway?.url ?? serverUrl });
    process.stdout.write(`${drivenMark}\n`);
  } finally {
    await gateway?.close();
  }
}

/** What this scenario sends is against its own tool's schema, and the gateway would refuse it as it comes. */
function argumentsFor(scenario: string): "enforce" | "warn" {
  return scenario === "http-custom-headers" ? "warn" : "enforce";
}

async function drive(scenario: string, where: Pick<Drive, "way" | "serverUrl" | "url">): Promise<void> {
  const era = eraOf(process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] ?? "");
  const context = asValues(JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}"));
  await driveScenario(scenario, { ...where, context, connect: (answer) => connectClient(era, where.url, answer) });
}

setTimeout(() => {
  process.stderr.write("The scenario did not end in time\n");
  process.exit(1);
}, scenarioTimeoutMs).unref();

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
}
