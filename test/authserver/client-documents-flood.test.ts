import { describe, expect, it } from "vitest";
import { createClientDocuments } from "../../src/authserver/client-documents.ts";
import type { ClientDocuments } from "../../src/authserver/client-documents.ts";
import type { GrantRecords, GuardedFetch } from "../../src/authserver/port.ts";
import { redirectSchemes } from "../../src/authserver/redirects.ts";
import { limits } from "../../src/model/limits.ts";
import { exchange, obtainCode, refresh, startHarness } from "./harness.ts";
import { createMemoryRecords } from "./memory-records.ts";

const honest = "https://client.test/oauth/metadata.json";
const perMinute = limits.oauthClientDocumentFetchesPerMinuteMax;

function documentOf(clientId: string): Response {
  const body = {
    client_id: clientId,
    redirect_uris: ["http://127.0.0.1/callback"],
    token_endpoint_auth_method: "none",
  };
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
}

const missing = (): Promise<Response> => Promise.resolve(new Response("", { status: 404 }));
const hanging = (): Promise<Response> => new Promise(() => undefined);

interface Scene {
  readonly documents: ClientDocuments;
  readonly asked: string[];
  advance(ms: number): void;
  /** What the honest client's server answers, when it is not its document. */
  honestly: (() => Promise<Response>) | undefined;
}

/** One replica. Strangers' documents answer as told, the honest client's with itself. */
function replica(strangers: (url: string) => Promise<Response>, records: GrantRecords = createMemoryRecords()): Scene {
  let now = 1_800_000_000_000;
  const asked: string[] = [];
  const fetch: GuardedFetch = (url) => {
    asked.push(String(url));
    if (String(url) !== honest) return strangers(String(url));
    return scene.honestly === undefined ? Promise.resolve(documentOf(honest)) : scene.honestly();
  };
  const rules = { schemes: redirectSchemes([]), resources: [] };
  const scene: Scene = {
    documents: createClientDocuments({ fetch, rules, records, now: () => now, log: () => undefined }),
    asked,
    advance: (ms) => {
      now += ms;
    },
    honestly: undefined,
  };
  return scene;
}

async function outcome(scene: Scene, clientId = honest): Promise<string> {
  return scene.documents.find(clientId).then(
    () => "served",
    (error: unknown) => (error instanceof Error ? error.name : "unknown"),
  );
}

async function flood({ documents }: Scene, count: number, prefix = "a"): Promise<void> {
  for (let at = 0; at < count; at += 1)
    await documents.find(`https://evil.test/${prefix}/${String(at)}`).catch(() => undefined);
}

const asksOf = ({ asked }: Scene): number => asked.filter((url) => url === honest).length;
const pastAge = limits.oauthClientDocumentAgeMs + 1;

describe("a client's document, once its age is over, while strangers name documents of their own", () => {
  it("is served as it was read last, when they have used up what may be fetched in a minute", async () => {
    const scene = replica(missing);
    await outcome(scene);
    scene.advance(pastAge);
    await flood(scene, perMinute + 1);
    expect([await outcome(scene), asksOf(scene)]).toEqual(["served", 1]);
  });

  it("is served as it was read last, while they keep everything busy that may be under way", async () => {
    const scene = replica(hanging);
    await outcome(scene);
    scene.advance(pastAge);
    for (let at = 0; at < limits.oauthClientDocumentFetchesMax; at += 1)
      void scene.documents.find(`https://evil.test/${String(at)}`).catch(() => undefined);
    expect([await outcome(scene), asksOf(scene)]).toEqual(["served", 1]);
  });

  it("serves no longer than a day without being read anew", async () => {
    const scene = replica(missing);
    await outcome(scene);
    scene.advance(limits.oauthClientDocumentStaleMsMax);
    await flood(scene, perMinute + 1);
    expect(await outcome(scene)).toBe("served");
    scene.advance(1);
    expect(await outcome(scene)).toBe("TemporarilyUnavailable");
  });

  it.each([
    ["used up a minute's fetches", (scene: Scene) => flood(scene, perMinute + 1)],
    [
      "keep everything busy",
      (scene: Scene) => {
        for (let at = 0; at < limits.oauthClientDocumentFetchesMax; at += 1)
          void scene.documents.find(`https://slow.test/${String(at)}`).catch(() => undefined);
        return Promise.resolve();
      },
    ],
  ])("is read anew all the same where somebody consented to the client, when they %s", async (_what, crowd) => {
    const scene = replica((url) => (url.startsWith("https://slow.test") ? hanging() : missing()));
    await outcome(scene);
    await scene.documents.noteUse(honest);
    scene.advance(pastAge);
    await crowd(scene);
    expect([await outcome(scene), asksOf(scene)]).toEqual(["served", 2]);
  });

  it("is read by a replica that has never seen it, where somebody consented to the client at another", async () => {
    const records = createMemoryRecords();
    await replica(missing, records).documents.noteUse(honest);
    const [knows, doesNot] = [replica(missing, records), replica(missing)];
    for (const scene of [knows, doesNot]) await flood(scene, perMinute + 1);
    expect([await outcome(knows), await outcome(doesNot)]).toEqual(["served", "TemporarilyUnavailable"]);
  });

  it("is read no more often than strangers' may be, where somebody consented to very many", async () => {
    const scene = replica((url) => Promise.resolve(documentOf(url)));
    for (let at = 0; at <= perMinute; at += 1) await scene.documents.noteUse(`https://evil.test/a/${String(at)}`);
    await flood(scene, perMinute + 1);
    expect(scene.asked).toHaveLength(perMinute);
  });
});

describe("the last good reading of a client's document, while its server is down, outlasts", () => {
  const down = (): Promise<Response> => Promise.resolve(new Response("", { status: 503 }));
  const minutes = Math.ceil((limits.oauthClientDocumentsMax + 1) / perMinute) + 1;
  const crowd = async (scene: Scene): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      scene.advance(60_000);
      await flood(scene, perMinute, String(minute));
    }
    expect(scene.asked.length).toBeGreaterThan(limits.oauthClientDocumentsMax);
    scene.honestly = down;
    scene.advance(60_000);
  };

  it("any number of documents that are none", async () => {
    const scene = replica(missing);
    await outcome(scene);
    await crowd(scene);
    expect([await outcome(scene), asksOf(scene)]).toEqual(["served", 2]);
  });

  it("any number of good documents, where somebody consented to the client, and not where nobody did", async () => {
    for (const [used, expected] of [
      [true, "served"],
      [false, "TemporarilyUnavailable"],
    ] as const) {
      const scene = replica((url) => Promise.resolve(documentOf(url)));
      await outcome(scene);
      if (used) await scene.documents.noteUse(honest);
      await crowd(scene);
      expect(await outcome(scene)).toBe(expected);
    }
  });
});

it("a sign-in goes on through a crowd of made-up clients at the authorize endpoint, from its consent on", async () => {
  const harness = await startHarness({ fetchPublic: (url) => (String(url) === honest ? at(url) : missing()) });
  const redirect = { redirect_uri: "http://127.0.0.1:4711/callback" };
  const first = await exchange(harness, await obtainCode(harness, redirect, honest), redirect);
  harness.advance(pastAge);
  for (let count = 0; count <= perMinute; count += 1) {
    const query = new URLSearchParams({ client_id: `https://evil.test/${String(count)}`, response_type: "code" });
    await fetch(`${harness.origin}/authorize?${query.toString()}`, { redirect: "manual" });
  }
  const asked = reads;
  expect((await refresh(harness, honest, first.body["refresh_token"])).status).toBe(200);
  expect(reads).toBe(asked + 1);
  await harness.close();
});

let reads = 0;
function at(url: string | URL): Promise<Response> {
  reads += 1;
  return Promise.resolve(documentOf(String(url)));
}
