import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import {
  showArgumentsRefused,
  showCall,
  showCatalogs,
  showHidden,
  showPolicyRefuses,
  showStepUp,
  signIn,
} from "./chapters-access.ts";
import { showBrokenResult, showChain, showChangedDefinition, showHostileText } from "./chapters-content.ts";
import { openEvidence } from "./evidence.ts";
import { createNarrator, StepDiffers, type Narrator } from "./narrate.ts";
import { createPerson } from "./person.ts";
import { anyPorts, startQuickstart, usualPorts, type Quickstart } from "./start.ts";
import type { Story } from "./story.ts";

const usage = `npm run demo -- [--once] [--free-ports]

  --once         end after the story; exit code 1 when a step differs from what is told
  --free-ports   take any free ports instead of 8080, 9464, 9101 and 9102
`;

const chapters: readonly ((story: Story) => Promise<void>)[] = [
  showCatalogs,
  showCall,
  showArgumentsRefused,
  showPolicyRefuses,
  showStepUp,
  showHidden,
  showHostileText,
  showBrokenResult,
  showChangedDefinition,
  showChain,
];

interface Options {
  readonly once: boolean;
  readonly freePorts: boolean;
}

function write(text: string): void {
  process.stdout.write(text);
}

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({ options: { once: { type: "boolean" }, "free-ports": { type: "boolean" } } });
    return { once: values.once === true, freePorts: values["free-ports"] === true };
  } catch {
    return undefined;
  }
}

async function run({ once, freePorts }: Options): Promise<number | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-demo-"));
  const quickstart = await startQuickstart({ ports: freePorts ? anyPorts : usualPorts, badManners: true, folder });
  introduce(quickstart);
  try {
    await tell(quickstart, createNarrator(write));
  } catch (error) {
    const name = error instanceof StepDiffers ? "This step differs" : "The story broke off";
    process.stderr.write(`\n${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    await quickstart.stop();
    return 1;
  }
  write(`\nEvery step came out as told. The evidence stays in ${quickstart.evidencePath}\n`);
  if (once) {
    await quickstart.stop();
    return 0;
  }
  invite(quickstart);
  stopOnSignal(quickstart);
  return undefined;
}

function introduce({ serverUrl, operationsUrl, tickets, crm }: Quickstart): void {
  write("Sallyport quickstart\n\n");
  write(`   gateway     ${serverUrl} (and its authorization server)\n`);
  write(`   operations  ${operationsUrl}\n`);
  write(`   tickets     ${tickets.url} (SDK v2, modern)\n`);
  write(`   crm         ${crm.url} (SDK v1, legacy)\n`);
}

async function tell(quickstart: Quickstart, narrator: Narrator): Promise<void> {
  const { serverUrl: url, passwords } = quickstart;
  narrator.heading("Signing in, knowing nothing but the server's URL");
  const aliceHerself = createPerson({ username: "alice", password: passwords.alice });
  const bobHimself = createPerson({ username: "bob", password: passwords.bob });
  narrator.say("alice, a support lead, with SDK v2:");
  const alice = await signIn(narrator, { kind: "v2 auto", url, person: aliceHerself });
  narrator.say("bob, in support, with SDK v1:");
  const bob = await signIn(narrator, { kind: "v1", url, person: bobHimself });
  narrator.holds(
    "the two speak different revisions",
    [alice.client.revision, bob.client.revision],
    ["2026-07-28", "2025-11-25"],
  );
  const story: Story = { quickstart, narrator, alice, bob, evidence: openEvidence(quickstart.evidencePath) };
  for (const chapter of chapters) await chapter(story);
  await alice.client.close();
  await bob.client.terminate();
  await bob.client.close();
}

function invite({ serverUrl, passwords, evidencePath }: Quickstart): void {
  write(`
The gateway stays up. Connect a client of your own:

   Claude Code    claude mcp add --transport http support ${serverUrl}
                  then /mcp inside Claude Code, to sign in
   VS Code        code --add-mcp '{"name":"support","type":"http","url":"${serverUrl}"}'
   MCP Inspector  npx @modelcontextprotocol/inspector, transport Streamable HTTP, URL ${serverUrl}

   Sign in as     alice / ${passwords.alice}
                  bob   / ${passwords.bob}

   What happened  npx tsx src/main.ts why REF --audit ${evidencePath}

Ctrl-C ends it.
`);
}

function stopOnSignal(quickstart: Quickstart): void {
  const stop = (): void => {
    void quickstart.stop().then(() => process.exit(0));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

function explain(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "EADDRINUSE")
    return `${error.message}. Something else has this port; npm run demo -- --free-ports takes others.`;
  return error instanceof Error ? error.message : String(error);
}

const options = readOptions();
if (options === undefined) {
  process.stderr.write(usage);
  process.exit(2);
}
try {
  const code = await run(options);
  // SDK clients keep timers and sockets that would hold the process for a while.
  if (code !== undefined) process.exit(code);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}
