import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/policy/decide.ts";
import { deny, load, question, rule } from "./given.ts";

const segment = fc.stringMatching(/^[a-z0-9]{1,6}$/);
const host = fc.stringMatching(/^[a-z][a-z0-9]{0,5}(?:\.[a-z]{2,3})?$/).filter((name) => name !== "localhost");
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));

interface Spelled {
  /** As it is usually written. */
  readonly plain: string;
  readonly others: readonly string[];
}

const file: fc.Arbitrary<Spelled> = path.map((at) => ({
  plain: `file:///${at}`,
  others: [
    `file:/${at}`,
    `file:${at}`,
    `FILE:/${at}`,
    "localhost",
    "127.0.0.1",
    "[::1]",
    "u@localhost",
    "localhost.",
  ].map((one) => (one.includes(":/") || one.startsWith("file:") ? one : `file://${one}/${at}`)),
}));

const ports = new Map([
  ["http", 80],
  ["https", 443],
  ["ws", 80],
  ["wss", 443],
  ["ftp", 21],
]);

const web: fc.Arbitrary<Spelled> = fc
  .tuple(fc.constantFrom(...ports), host, path)
  .map(([[scheme, port], name, at]) => ({
    plain: `${scheme}://${name}/${at}`,
    others: [
      `//${name}:${port}`,
      `//${name}:0${port}`,
      `//${name}:`,
      `//${name}.`,
      `//u@${name}`,
      `//u:p@${name}:${port}`,
      `//${name.toUpperCase()}.:${port}`,
      `/${name.toUpperCase()}`,
      name,
      `///${name}`,
      `\\\\${name}`,
    ].map((authority) => `${scheme}:${authority}/${at}`),
  }));

const own: fc.Arbitrary<Spelled> = fc.tuple(host, path).map(([name, at]) => ({
  plain: `docs://${name}/${at}`,
  others: [`//u@${name}`, `//${name}.`, `//${name}:`, `//u@${name.toUpperCase()}`].map((one) => `docs:${one}/${at}`),
}));

const anySpelled = fc.oneof(file, web, own);

function effect(rules: readonly unknown[], name: string): string {
  return decide(load(rules), question({ kind: "resource", name })).effect;
}

const about = (uri: string): Record<string, unknown> => ({ what: { upstream: "crm", resource: uri } });
const folderOf = (uri: string): string => `${uri.slice(0, uri.lastIndexOf("/"))}/*`;

describe("another spelling of scheme and authority", () => {
  it("is denied by a deny of the usual one, whether it names the URI or a pattern", () => {
    fc.assert(
      fc.property(anySpelled, ({ plain, others }) => {
        for (const uri of others) {
          expect([uri, effect([rule("a"), deny("d", about(plain))], uri)]).toEqual([uri, "deny"]);
          expect([uri, effect([rule("a"), deny("d", about(folderOf(plain)))], uri)]).toEqual([uri, "deny"]);
        }
      }),
    );
  });

  it("in a deny denies the usual one, and every other", () => {
    fc.assert(
      fc.property(anySpelled, ({ plain, others }) => {
        for (const written of others)
          for (const uri of [plain, ...others]) {
            const found = effect([rule("a"), deny("d", about(written))], uri);
            expect([written, uri, found]).toEqual([written, uri, "deny"]);
          }
      }),
      { numRuns: 20 },
    );
  });

  it("is not allowed by an allow of the usual one", () => {
    fc.assert(
      fc.property(anySpelled, ({ plain, others }) => {
        expect(effect([rule("a", about(plain))], plain)).toBe("allow");
        for (const uri of others) expect([uri, effect([rule("a", about(plain))], uri)]).toEqual([uri, "deny"]);
      }),
    );
  });

  it.each([
    ["another port", "https://host:8443/x"],
    ["another scheme", "http://host/x"],
    ["another host", "https://host.example/x"],
    ["a host of the same end", "https://a.host/x"],
    ["a host that a user is named after", "https://host@other/x"],
    ["a path of the same words", "https://other/host/x"],
    ["files of another machine", "file://host/x"],
  ])("is not %s", (_law, uri) => {
    expect(effect([rule("a"), deny("d", about("https://host/x")), deny("e", about("file:///x"))], uri)).toBe("allow");
  });
});
