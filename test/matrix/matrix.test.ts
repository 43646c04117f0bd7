import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { revisions } from "../../src/model/revision.ts";
import type { Revision } from "../../src/model/revision.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { features } from "./features.ts";
import type { Verdict } from "./features.ts";
import { openMatrixClient } from "./matrix-client.ts";
import { startMatrixServer } from "./matrix-server.ts";
import type { MatrixServer } from "./matrix-server.ts";
import { renderMatrix } from "./render.ts";

const ordered = [...revisions].reverse();
const pairings = ordered.flatMap((client) => ordered.map((server) => ({ client, server })));

let servers: ReadonlyMap<Revision, MatrixServer>;
let gateways: ReadonlyMap<Revision, GatewayUnderTest>;
/** By client, server and feature. */
const verdicts = new Map<string, Verdict>();

beforeAll(async () => {
  servers = new Map(
    await Promise.all(ordered.map(async (revision) => [revision, await startMatrixServer(revision)] as const)),
  );
  gateways = new Map(
    await Promise.all([...servers].map(async ([revision, { url }]) => [revision, await startGateway(url)] as const)),
  );
});

function startGateway(url: string): Promise<GatewayUnderTest> {
  return startGatewayUnderTest({ upstreams: { m: url }, servers: { all: { m: "m_" } } });
}

afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.remove();
  for (const server of servers.values()) await server.close();
});

describe.each(pairings)("a client of $client in front of a server of $server", ({ client, server }) => {
  it.each(features)("$title", async (feature) => {
    if (!feature.client(client) || !feature.server(server)) {
      verdicts.set(keyOf(client, server, feature.title), "–");
      return;
    }
    const port = gateways.get(server)?.port ?? 0;
    const upstream = servers.get(server);
    if (upstream === undefined) throw new Error("no such server");
    const driven = await openMatrixClient(port, client);
    const verdict = await feature.run(driven, upstream).finally(() => {
      driven.close();
    });
    verdicts.set(keyOf(client, server, feature.title), verdict);
    // Where both speak one era, everything that both have works.
    if (isModern(client) === isModern(server)) expect(verdict).toBe("works");
  });
});

const isModern = (revision: Revision): boolean => revision === "2026-07-28";
const keyOf = (client: Revision, server: Revision, title: string): string => JSON.stringify([client, server, title]);

describe("the published matrix", () => {
  it("says what was seen", () => {
    const path = fileURLToPath(new URL("../../docs/compatibility.md", import.meta.url));
    const published = readFileSync(path, "utf8");
    const seen = renderMatrix({
      revisions: ordered,
      titles: features.map(({ title }) => title),
      verdict: (client, server, title) => verdicts.get(keyOf(client, server, title)) ?? "not run",
    });
    const begin = "<!-- matrix: begin -->\n";
    const end = "<!-- matrix: end -->";
    const [before = "", rest = ""] = published.split(begin);
    const [, after = ""] = rest.split(end);
    const expected = `${before}${begin}${seen}${end}${after}`;
    if (process.env["SALLYPORT_WRITE_DOCS"] === "1") writeFileSync(path, expected);
    else expect(published).toBe(expected);
  });
});
