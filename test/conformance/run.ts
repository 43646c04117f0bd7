import { readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeAuthorizationServer } from "./authorization-gateway.ts";
import { authorizationLastLine, authorizationVerdict, type AuthorizationJudged } from "./authorization-report.ts";
import {
  clientLastLine,
  clientTitle,
  clientVerdictOn,
  readClientTerms,
  termsOf,
  toRun,
  type ClientJudged,
  type ClientTermsByRevision,
} from "./client-report.ts";
import { listItems, readExceptions } from "./exceptions.ts";
import type { Fixture } from "./fixture-http.ts";
import { startLegacyFixture } from "./fixture-legacy.ts";
import { startModernFixture } from "./fixture-modern.ts";
import { startGatewayBefore } from "./gateway.ts";
import { lastLine, nameOf, verdictOn, type Cell, type Judged } from "./report.ts";
import { isAboutSignIn } from "./client-auth-drives.ts";
import { runClientSuite } from "./suite-client.ts";
import { installSuite, requirementsOn, revisionOf, runSuite, type Era, type Scenario } from "./suite.ts";

const eras = ["legacy", "modern"] as const;
const startFixture = { legacy: startLegacyFixture, modern: startModernFixture } as const;

/**
 * `npm run conformance`: every client era against every server era, through the gateway, the suite as a
 * server of either era behind it, and the built-in authorization server. Ends with 0 when all required scenarios pass where the eras match, and
 * elsewhere pass or stand in the compatibility document with their reason; as a client, all that is run has to pass. `--direct legacy|modern` runs
 * against the fixture alone, no gateway between; `--client` runs what concerns the upstream side alone, and
 * `--authorization` what concerns the authorization server.
 */
async function main(args: readonly string[]): Promise<number> {
  await installSuite();
  const document = readFileSync(join(import.meta.dirname, "../../docs/compatibility.md"), "utf8");
  const cells = await judgeServers(args, document);
  const upstreamSide = args.length === 0 || args[0] === "--client";
  const clients = upstreamSide ? await judgeUpstreamSide(readClientTerms(listItems(document))) : [];
  const authorization = args.length === 0 || args[0] === "--authorization" ? [await judgeAuthorization()] : [];
  for (const each of cells) say([`\n${nameOf(each.cell)}`, ...each.lines].join("\n"));
  for (const each of clients) say([`\n${clientTitle(each)}`, ...each.lines].join("\n"));
  for (const each of authorization) say(["\nauthorization server", ...each.lines].join("\n"));
  say("");
  for (const each of cells) say(lastLine(each));
  for (const each of clients) say(clientLastLine(each));
  for (const each of authorization) say(authorizationLastLine(each));
  return [...cells, ...clients, ...authorization].every(({ good }) => good) ? 0 : 1;
}

async function judgeAuthorization(): Promise<AuthorizationJudged> {
  return authorizationVerdict(await judgeAuthorizationServer());
}

async function judgeServers(args: readonly string[], document: string): Promise<readonly Judged[]> {
  if (args[0] === "--client" || args[0] === "--authorization") return [];
  return args[0] === "--direct" ? [await judgeFixture(args[1])] : judgeGateway(document);
}

async function judgeFixture(name: string | undefined): Promise<Judged> {
  const era = eras.find((each) => each === name);
  if (era === undefined) throw new Error("--direct needs an era: legacy or modern");
  return verdictOn({ client: era, server: era }, await withFixture(era, (fixture) => runSuite(fixture.url, era)), {});
}

async function judgeGateway(document: string): Promise<readonly Judged[]> {
  const exceptions = readExceptions(document);
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

/** The suite plays a server of each era, before which the gateway is a client. */
async function judgeUpstreamSide(terms: ClientTermsByRevision): Promise<readonly ClientJudged[]> {
  const judged: ClientJudged[] = [];
  for (const era of eras) {
    const own = termsOf(terms, era);
    const requirements = requirementsOn("client", revisionOf[era]);
    const running = toRun(requirements, own);
    const onTheWire = running.filter(({ name }) => !isAboutSignIn(name));
    const alone = await runClientSuite(era, "alone", onTheWire);
    const through = await runClientSuite(era, "through", onTheWire);
    // Of signing in, a client alone has its own way, which says nothing of the gateway's.
    const signingIn = await runClientSuite(
      era,
      "signing-in",
      running.filter(({ name }) => isAboutSignIn(name)),
    );
    const scenarios = [...through, ...signingIn];
    judged.push(clientVerdictOn(era, scenarios, { terms: own, requirements, alone }));
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
