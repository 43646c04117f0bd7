import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readExceptions } from "./exceptions.ts";
import type { Fixture } from "./fixture-http.ts";
import { startLegacyFixture } from "./fixture-legacy.ts";
import { startModernFixture } from "./fixture-modern.ts";
import { startGatewayBefore } from "./gateway.ts";
import { lastLine, nameOf, verdictOn, type Cell, type Judged } from "./report.ts";
import { installSuite, runSuite, type Era, type Scenario } from "./suite.ts";

const eras = ["legacy", "modern"] as const;
const startFixture = { legacy: startLegacyFixture, modern: startModernFixture } as const;

/**
 * `npm run conformance`: every client era against every server era, through the gateway. Ends with 0 when
 * all required scenarios pass where the eras match, and elsewhere pass or stand in the compatibility
 * document with their reason. `--direct legacy|modern` runs against the fixture alone, no gateway between.
 */
async function main(args: readonly string[]): Promise<number> {
  await installSuite();
  const judged = args[0] === "--direct" ? [await judgeFixture(args[1])] : await judgeGateway();
  for (const { cell, lines } of judged) say([`\n${nameOf(cell)}`, ...lines].join("\n"));
  say("");
  for (const each of judged) say(lastLine(each));
  return judged.every(({ good }) => good) ? 0 : 1;
}

async function judgeFixture(name: string | undefined): Promise<Judged> {
  const era = eras.find((each) => each === name);
  if (era === undefined) throw new Error("--direct needs an era: legacy or modern");
  return verdictOn({ client: era, server: era }, await withFixture(era, (fixture) => runSuite(fixture.url, era)), {});
}

async function judgeGateway(): Promise<readonly Judged[]> {
  const exceptions = readExceptions(readFileSync(join(import.meta.dirname, "../../docs/compatibility.md"), "utf8"));
  const judged: Judged[] = [];
  for (const client of eras) {
    for (const server of eras) {
      const cell = { client, server };
      const scenarios = await withFixture(server, (fixture) => throughGateway(fixture, client));
      const alone =
        client === server ? await withFixture(server, (fixture) => runSuite(fixture.url, client)) : undefined;
      judged.push(verdictOn(cell, scenarios, { alone, excepted: exceptions.get(keyOf(cell)) }));
    }
  }
  return judged;
}

function keyOf(cell: Cell): string {
  return `${cell.client}/${cell.server}`;
}

async function throughGateway(fixture: Fixture, client: Era): Promise<readonly Scenario[]> {
  const gateway = await startGatewayBefore(fixture.url);
  try {
    return await runSuite(gateway.url, client);
  } finally {
    await gateway.close();
  }
}

async function withFixture<T>(era: Era, use: (fixture: Fixture) => Promise<T>): Promise<T> {
  const fixture = await startFixture[era]();
  try {
    return await use(fixture);
  } finally {
    await fixture.close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main(process.argv.slice(2));
