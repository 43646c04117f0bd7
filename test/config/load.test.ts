import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig, type LoadedConfig } from "../../src/config/load.ts";
import { limits } from "../../src/model/limits.ts";
import { canary, changed, faultsOf, loadText, soundDraft } from "./load-text.ts";

/** What one would write by hand, with most of what can be said. */
const full = `# yaml-language-server: $schema=./sallyport.schema.json
publicUrl: https://mcp.example.com/
listen: { host: 0.0.0.0, port: 8443 }
auth:
  issuers:
    - { alias: corp, issuer: "https://login.example.com", groupsClaim: groups, claims: { team: "https://x.example/team" } }
  builtIn:
    users:
      - { username: ada, password: "\${env:SECRET}", groups: [support] }
    cookieSecret: "\${env:SECRET}"
store: { redis: { url: "\${env:REDIS_URL}" } }
keys: { session: "\${env:SECRET}" }
upstreams:
  tickets: { url: "https://tickets.example.net/mcp", credential: { type: static, headers: { Authorization: "\${env:SECRET}" } } }
  crm:
    url: https://crm.example.net/mcp
    era: legacy
    timeouts: { callMs: 1000 }
    credential: { type: clientCredentials, issuer: https://login.example.com, clientId: gateway, clientSecret: "\${file:/run/secrets/crm}" }
servers:
  support:
    title: Support
    scopes: { minimal: [mcp] }
    upstreams:
      tickets: { prefix: tickets_ }
      crm: { prefix: crm_, include: { tools: ["get_*"] }, rename: { tools: { get_customer: customer } } }
policies: ./policies
audit: { mode: required, sinks: [ { redis: {} }, { file: { path: ../log/audit.jsonl } } ] }
limits: { drainMs: 5000 }
`;

function loaded(text: string): LoadedConfig {
  const result = loadText(text);
  if (!result.ok) throw new Error(JSON.stringify(result.faults, null, 2));
  return result;
}

describe("loadConfig", () => {
  it("fills in every default and makes paths absolute from the file's folder", () => {
    const { config, warnings } = loaded(full);
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      publicUrl: "https://mcp.example.com",
      operations: { host: "127.0.0.1", port: 9464 },
      allowedHosts: ["mcp.example.com"],
      allowedOrigins: ["https://mcp.example.com"],
      policies: "/etc/sallyport/policies",
      content: { results: "clean" },
      audit: {
        sinks: [
          { kind: "redis", stream: "audit" },
          { kind: "file", path: "/etc/log/audit.jsonl" },
        ],
      },
      log: { level: "info" },
    });
    expect(config.limits).toEqual({ ...limits, drainMs: 5000 });
    expect(config.upstreams["crm"]).toMatchObject({
      era: "legacy",
      addresses: "public",
      timeouts: { callMs: 1000, connectMs: limits.upstreamConnectTimeoutMs },
      schema: { arguments: "enforce", results: "enforce" },
    });
    expect(config.servers["support"]).toMatchObject({
      issuer: "local",
      scopes: { minimal: ["mcp"], supported: ["mcp"] },
      upstreams: { crm: { prefix: "crm_", include: { tools: ["get_*"], prompts: undefined } } },
    });
  });

  it("adds this machine's names to the allowed hosts only when nothing else can connect", () => {
    expect(loaded(changed()).config.allowedHosts).toEqual([
      "mcp.example.com",
      "127.0.0.1:8080",
      "localhost:8080",
      "[::1]:8080",
    ]);
    expect(loaded(changed(["listen.host", "0.0.0.0"])).config.allowedHosts).toEqual(["mcp.example.com"]);
    expect(loaded(changed(["allowedHosts", ["Gateway.Example:8443"]])).config.allowedHosts).toEqual([
      "gateway.example:8443",
    ]);
  });

  it("has no entry that nobody configured, whatever its name", () => {
    const { config } = loaded(full);
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      expect(config.servers[name]).toBeUndefined();
      expect(config.upstreams[name]).toBeUndefined();
    }
  });

  it("freezes the configuration to its leaves", () => {
    const unfrozen: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      if (!Object.isFrozen(value)) unfrozen.push(path);
      for (const [key, member] of Object.entries(value)) walk(member, `${path}.${key}`);
    };
    walk(loaded(full).config, "config");
    expect(unfrozen).toEqual([]);
  });

  it("gives secrets to those who ask and shows them to nobody else", () => {
    const { config, digest, warnings } = loaded(full);
    expect(config.keys.session?.reveal()).toBe(canary);
    expect(config.store.kind === "redis" && config.store.url.reveal()).toContain(canary);
    const crm = config.upstreams["crm"]?.credential;
    expect(crm?.type === "clientCredentials" && crm.clientSecret?.reveal()).toBe(canary);
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 99, showHidden: true }),
      `${String(config.keys.session)}${digest}`,
      JSON.stringify(warnings),
    ];
    expect(printed.join("")).not.toContain(canary);
    expect(JSON.stringify(config.keys.session)).toBe('"•••"');
    expect(inspect({ secret: config.keys.session })).toBe("{ secret: ••• }");
  });

  it("reads a secret's file beside the configuration, without its last line break", () => {
    const { config } = loaded(changed(["keys", { session: "${file:secrets/crm}" }]));
    expect(config.keys.session?.reveal()).toBe(canary);
  });

  it("gives equal digests to equal configurations, whatever their spelling, and others to others", () => {
    const digest = loaded(changed()).digest;
    expect(loaded(changed(["listen.port", 8080])).digest).toBe(digest);
    expect(loaded(changed(["listen.port", 8081])).digest).not.toBe(digest);
    expect(digest).toMatch(/^[0-9a-f]{64}$/u);
  });

  it("never throws, whatever the text", () => {
    const yamlish = fc.array(
      fc.constantFrom(
        "a",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        "&x ",
        "*x",
        "!!binary ",
        "? ",
        "|",
        ">",
        '"',
        "'",
        "---\n",
        "<<",
        "%YAML 1.1\n",
        "\t",
        "#",
        "\u0000",
        "publicUrl",
        "servers",
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          yamlish.map((parts) => parts.join("")),
        ),
        (text) => typeof loadText(text).ok === "boolean",
      ),
      { numRuns: 2_000 },
    );
  });

  it("never throws, whatever stands in the place of a value", () => {
    const keys = Object.keys(soundDraft());
    fc.assert(
      fc.property(
        fc.constantFrom(...keys),
        fc.jsonValue(),
        (key, value) => typeof loadText(changed([key, value])).ok === "boolean",
      ),
      { numRuns: 1_000 },
    );
  });

  it("reports a failing secret store as a fault", () => {
    const result = loadConfig({
      text: changed(["keys", { session: "${file:/x}" }]),
      path: "/c.yaml",
      env: () => undefined,
      readFile: () => {
        throw new TypeError(canary);
      },
    });
    expect(result.ok ? [] : result.faults.map(({ found }) => found)).toEqual(["/x cannot be read (unknown error)"]);
  });
});

describe("the file's form", () => {
  it.each([
    ["an empty file", "", "type at "],
    ["a list", "- a", "type at "],
    ["duplicate keys", "a: 1\na: 2", "yaml at "],
    ["a second document", "a: 1\n---\nb: 2", "yaml at "],
    ["a tag", "a: !!binary aGk=", "yaml at "],
    ["an own tag", "a: !secret x", "yaml at "],
    ["a key that is a list", "? [a]\n: 1", "yaml at "],
    ["an alias without an anchor", "a: *x", "yaml at "],
    ["an alias into itself", "a: &x [*x]", "yaml at "],
    ["a tab as indentation", "a:\n\tb: 1", "yaml at "],
    ["a flow nest", "[".repeat(100_000), "yaml at "],
    ["a block nest", "- ".repeat(100_000), "yaml at "],
    ["a key nest", "? ".repeat(100_000), "yaml at "],
    ["a file past the limit", `# ${"x".repeat(limits.configurationBytesMax)}`, "yaml at "],
  ])("refuses %s", (_what, text, fault) => {
    expect(new Set(faultsOf(text)).has(fault)).toBe(true);
  });

  it("refuses a small file that aliases would make huge", () => {
    const bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"];
    for (let level = 1; level < 9; level += 1) bomb.push(`a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`);
    expect(faultsOf(bomb.join("\n"))).toEqual(["yaml at "]);
  });

  it("accepts an honest alias", () => {
    const text = full
      .replace("{ prefix: tickets_ }", "{ prefix: tickets_, hide: &h { tools: [a] } }")
      .replace("prefix: crm_,", "prefix: crm_, hide: *h,");
    expect(faultsOf(text)).toEqual([]);
  });

  it("reads as YAML 1.2 even where a directive asks for 1.1: `no` is text", () => {
    const { config } = loaded(`%YAML 1.1\n---\n${changed()}`.replace('"./policies"', "no"));
    expect(config.policies).toBe("/etc/sallyport/no");
  });

  it("takes `<<` for a key like any other", () => {
    expect(faultsOf(changed(["<<", {}]))).toEqual(['unknownKey at ["…"]']);
  });

  it("quotes no text in a syntax fault", () => {
    const result = loadText(`keys: { session: "${canary} \n a: [`);
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toContain(canary);
  });
});
