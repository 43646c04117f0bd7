import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** Rooms by layer, outermost first. A file imports from its own room and from any layer below its own, never sideways. */
const layers: readonly (readonly string[])[] = [
  ["main"],
  ["compose"],
  ["cli", "edge"],
  ["gateway"],
  [
    "auth",
    "authserver",
    "signin",
    "connect",
    "session",
    "catalog",
    "policy",
    "schema",
    "sanitize",
    "upstream",
    "audit",
    "store",
    "telemetry",
    "config",
  ],
  ["protocol", "web"],
  ["model"],
];

/** Sideways imports that are rules, not leaks: a store implements what owners declare, by type alone. */
const ports: readonly RegExp[] = [/^store\/[^ ]+ -> (audit|session|auth|authserver|upstream|connect)\/port\.ts$/];

/** Each package has one owner; `policy` shares the linear-time regex engine with `schema`. */
const owners: Readonly<Record<string, readonly string[]>> = {
  fastify: ["edge", "compose"],
  "@fastify/http-proxy": ["edge"],
  undici: ["upstream"],
  jose: ["auth", "authserver", "upstream"],
  oauth4webapi: ["upstream", "signin"],
  "oidc-provider": ["authserver"],
  ioredis: ["store"],
  pino: ["telemetry"],
  "prom-client": ["telemetry"],
  ajv: ["schema", "config"],
  re2js: ["schema", "policy"],
  "@marcbachmann/cel-js": ["policy"],
  yaml: ["config"],
  "ipaddr.js": ["upstream"],
};

const pureRooms = ["policy", "schema", "sanitize", "protocol", "model"];
const impureModules =
  /^(node:(http|https|net|tls|dns|fs|child_process|worker_threads)|fastify|undici|ioredis|pino|jose)/;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function sourceFiles(): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), "utf8");
  const found = text.matchAll(
    /^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"|import\("([^"]+)"\)|^import\s+"([^"]+)"/gm,
  );
  return [...found].map((match) => {
    const specifier = match[2] ?? match[3] ?? match[4] ?? "";
    const to = specifier.startsWith(".") ? relative(src, normalize(join(src, dirname(file), specifier))) : specifier;
    return { from: file, to, typeOnly: match[1] !== undefined };
  });
}

function roomOf(file: string): string {
  const [first = ""] = file.split("/");
  return file.includes("/") ? first : first.startsWith("compose") ? "compose" : first.replace(/\.ts$/, "");
}

function layerOf(room: string): number {
  return layers.findIndex((layer) => layer.includes(room));
}

const imports = sourceFiles().flatMap(importsOf);
const isOwn = (one: Import): boolean => one.to.endsWith(".ts");

describe("which way imports flow", () => {
  it("the reading of imports finds them: of every room but the model, some", () => {
    const importing = new Set(imports.map(({ from }) => roomOf(from)));
    expect(layers.flat().filter((room) => !importing.has(room))).toEqual([]);
  });

  it("every file belongs to a room that the layers name", () => {
    expect(sourceFiles().filter((file) => layerOf(roomOf(file)) < 0)).toEqual([]);
  });

  it("a file imports from its own room or from a layer below, never sideways or up", () => {
    const leaks = imports
      .filter(isOwn)
      .filter(({ from, to }) => roomOf(from) !== roomOf(to) && layerOf(roomOf(to)) <= layerOf(roomOf(from)))
      .map(({ from, to }) => `${from} -> ${to}`)
      .filter((leak) => !ports.some((port) => port.test(leak)));
    expect(leaks).toEqual([]);
  });

  it("a port is reached by type alone", () => {
    const values = imports.filter(
      ({ from, to, typeOnly }) => ports.some((port) => port.test(`${from} -> ${to}`)) && !typeOnly,
    );
    expect(values).toEqual([]);
  });

  it("each package is imported by its owner alone", () => {
    const foreign = imports
      .filter((one) => !isOwn(one) && !one.to.startsWith("node:"))
      .filter(({ from, to }) => {
        const name = to.startsWith("@") ? to.split("/").slice(0, 2).join("/") : (to.split("/")[0] ?? "");
        return !(owners[name] ?? []).includes(roomOf(from));
      })
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
  });

  it("the pure rooms know no HTTP, file, socket, store or clock", () => {
    const impure = imports.filter(({ from, to }) => pureRooms.includes(roomOf(from)) && impureModules.test(to));
    expect(impure).toEqual([]);
    const clocks = sourceFiles()
      .filter((file) => pureRooms.includes(roomOf(file)))
      .filter((file) =>
        /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout)\b/.test(
          readFileSync(join(src, file), "utf8"),
        ),
      );
    expect(clocks).toEqual([]);
  });

  it("there is no barrel: no file named index", () => {
    expect(sourceFiles().filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual([]);
  });
});
