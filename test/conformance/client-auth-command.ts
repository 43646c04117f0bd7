import { asValues } from "./fixture-item.ts";
import { driveAsserted, isAsserted } from "./client-auth-asserted.ts";
import { driveAsItself, isAsItself } from "./client-auth-itself.ts";
import { driveSignIn } from "./client-auth-drives.ts";
import { openAccount } from "./client-auth-account.ts";
import { drivenMark, eraOf } from "./suite-client.ts";

/** Longest time for one scenario, before the suite gives up on the command and leaves it behind. */
const scenarioTimeoutMs = 25_000;

/**
 * The command that the suite runs for each scenario about sign-in: `client-auth-command.ts URL`, the URL being that of
 * the protected server it plays. The gateway's engine for users' own grants finds the authorization server,
 * registers, sends the person there and gets the token, with which the server is then called; where the gateway signs
 * in as itself, a whole gateway does; where the company's provider vouches for the person, the gateway's upstream side.
 * Prints the mark of a scenario that came to the end it should, which the suite does not record.
 */
async function main([serverUrl]: readonly string[]): Promise<void> {
  if (serverUrl === undefined) throw new Error("Needs a URL");
  const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
  const era = eraOf(process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] ?? "");
  const context = asValues(JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}"));
  const where = { serverUrl, era, context };
  if (isAsItself(scenario)) await driveAsItself(scenario, where);
  else if (isAsserted(scenario)) await driveAsserted(where);
  else await driveSignIn(scenario, (settings) => openAccount(where, settings));
  process.stdout.write(`${drivenMark}\n`);
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
