import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSubjects } from "./build.ts";
import type { Build } from "./build.ts";
import { compare } from "./compare.ts";
import type { Effort, Ratio, Side } from "./compare.ts";
import { callRequest, listRequest, mint, startIdentity, writeScene } from "./scene.ts";
import type { Identity } from "./scene.ts";
import { startSubject } from "./subject.ts";
import type { Subject } from "./subject.ts";

export interface Figure extends Ratio {
  readonly what: string;
  readonly bar: number;
  readonly ok: boolean;
}

export interface BenchOptions extends Effort {
  /** Which figures are wanted, by name: `P1`, `P4 rules`. All when it is empty. */
  readonly only: readonly string[];
  /** Arguments of Node for the gateway of P1 and P2. */
  readonly gatewayArgs: readonly string[];
}

/** What the figures share: built subjects, an upstream, an issuer and a folder. */
interface Stage {
  readonly build: Build;
  readonly identity: Identity;
  readonly upstream: Subject;
  readonly folder: string;
  /** By what they are: figures share them, since a subject that is warm already needs less warming. */
  readonly places: Map<string, Place>;
}

/** A subject, and where on it an MCP endpoint is, with a token that opens it. */
interface Place {
  readonly subject: Subject;
  readonly path: string;
  readonly token: string;
}

/** Takes the figures one after the other. */
export async function takeFigures(options: BenchOptions): Promise<Record<string, Figure>> {
  const stage = await setStage();
  try {
    const figures: Record<string, Figure> = {};
    for (const [name, { what, bar, take }] of Object.entries(measurements)) {
      if (options.only.length > 0 && !options.only.includes(name)) continue;
      const ratio = await take(stage, options);
      figures[name] = { what, bar, ok: ratio.ratio <= bar, ...ratio };
    }
    return figures;
  } finally {
    await strike(stage);
  }
}

interface Measurement {
  readonly what: string;
  readonly bar: number;
  readonly take: (stage: Stage, options: BenchOptions) => Promise<Ratio>;
}

const measurements: Readonly<Record<string, Measurement>> = {
  P1: { what: "tools/call, everything on ÷ bare proxy", bar: 1.0, take: overProxy(callRequest) },
  P2: { what: "tools/list of 40 tools ÷ bare proxy", bar: 0.6, take: overProxy(listRequest) },
  "P4 rules": {
    what: "tools/call, 10,000 policy rules ÷ 10",
    bar: 1.2,
    take: overSmaller({ rules: 10_000, tools: 10 }, { rules: 10, tools: 10 }),
  },
  "P4 tools": {
    what: "tools/call, 5,000 tools ÷ 10",
    bar: 1.2,
    take: overSmaller({ rules: 10, tools: 5_000 }, { rules: 10, tools: 10 }),
  },
};

function overProxy(request: typeof callRequest): Measurement["take"] {
  return async (stage, options) => {
    const size = { rules: 50, tools: 40 };
    const gateway = await gatewayOf(stage, size, options.gatewayArgs);
    const proxy = await proxyOf(stage);
    // The proxy gets the same bytes, token included.
    const onProxy = { subject: proxy.subject, request: request(`/${size.tools}/mcp`, gateway.token) };
    return compare(sideOf(gateway, request), onProxy, options);
  };
}

interface Size {
  readonly rules: number;
  readonly tools: number;
}

function overSmaller(large: Size, small: Size): Measurement["take"] {
  return async (stage, options) => {
    const measured = sideOf(await gatewayOf(stage, large), callRequest);
    return compare(measured, sideOf(await gatewayOf(stage, small), callRequest), options);
  };
}

function sideOf({ subject, path, token }: Place, request: typeof callRequest): Side {
  return { subject, request: request(path, token) };
}

async function gatewayOf(stage: Stage, size: Size, nodeArgs: readonly string[] = []): Promise<Place> {
  return placeOf(stage, `gateway ${size.rules} ${size.tools}`, async () => {
    const { configPath, resource } = await writeScene(mkdtempSync(join(stage.folder, "gateway-")), {
      issuer: stage.identity.issuer.origin,
      upstreamPort: stage.upstream.port,
      ...size,
    });
    const program = stage.build.path("test/bench/subjects/gateway.ts");
    const subject = await startSubject(program, { args: [configPath], nodeArgs });
    return { subject, path: new URL(resource).pathname, token: await mint(stage.identity, resource) };
  });
}

async function proxyOf(stage: Stage): Promise<Place> {
  return placeOf(stage, "proxy", async () => {
    const args = [`http://127.0.0.1:${stage.upstream.port}`];
    const subject = await startSubject(stage.build.path("test/bench/subjects/proxy.ts"), { args });
    return { subject, path: "/", token: "" };
  });
}

async function placeOf({ places }: Stage, name: string, make: () => Promise<Place>): Promise<Place> {
  const known = places.get(name);
  if (known !== undefined) return known;
  const place = await make();
  places.set(name, place);
  return place;
}

async function setStage(): Promise<Stage> {
  const build = buildSubjects();
  return {
    build,
    identity: await startIdentity(),
    upstream: await startSubject(build.path("test/bench/subjects/upstream.ts")),
    folder: mkdtempSync(join(tmpdir(), "sallyport-bench-")),
    places: new Map<string, Place>(),
  };
}

async function strike({ places, upstream, identity, folder, build }: Stage): Promise<void> {
  for (const { subject } of [...places.values(), { subject: upstream }]) subject.stop();
  await identity.issuer.close();
  rmSync(folder, { recursive: true, force: true });
  build.remove();
}
