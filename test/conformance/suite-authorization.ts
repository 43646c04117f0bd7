import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { followSuiteCommand, readChecks, scenarioOf, type Scenario } from "./suite.ts";

/** What the suite has for authorization servers. Its lists of requirements leave them out, since MCP requires none of a server. */
const scenarios = ["authorization-server-metadata-endpoint", "authorization-code-grant"] as const;

export interface AuthorizationServerUnderTest {
  readonly issuer: string;
  readonly resource: string;
  readonly clientId: string;
  readonly username: string;
  readonly password: string;
}

/** Runs the suite's `authorization` command, and is the person at the browser that it prints a URL for. */
export async function runAuthorizationSuite(
  server: AuthorizationServerUnderTest,
  port: number,
): Promise<readonly Scenario[]> {
  const output = mkdtempSync(join(tmpdir(), "sallyport-conformance-"));
  const { issuer, resource, clientId } = server;
  const asked = ["--url", issuer, "--client-id", clientId, "--resource", resource, "-p", String(port), "-o", output];
  let visiting: Promise<void> | undefined;
  try {
    await followSuiteCommand(["authorization", ...asked], output, (line) => {
      if (line.startsWith(`${issuer}/authorize?`)) visiting ??= visit(line, server);
    });
    await visiting;
    const folders = readdirSync(output);
    return scenarios.map((name) => {
      const own = folders.filter((folder) => folder.includes(name));
      return scenarioOf(
        { name, required: true },
        own.flatMap((folder) => readChecks(join(output, folder))),
      );
    });
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

async function visit(authorizationUrl: string, { username, password }: AuthorizationServerUnderTest): Promise<void> {
  const answer = await signInHeadlessly({ authorizationUrl, username, password });
  await fetch(answer);
}
