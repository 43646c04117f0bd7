import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../src/model/records.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { Log, LogOptions } from "../../src/telemetry/log.ts";

function logInto(options: Partial<LogOptions> = {}): {
  log: Log;
  lines: () => Record<string, unknown>[];
  text: () => string;
} {
  const written: string[] = [];
  const destination = { write: (line: string) => written.push(line) > 0 };
  const log = createLog({ level: "debug", destination, ...options });
  return {
    log,
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => written.join(""),
  };
}

describe("a line of log", () => {
  it("has level, time, event and flat facts", () => {
    const { log, lines } = logInto();
    log.info("gateway.started", { port: 8080, tls: true, servers: ["a", "b"], absent: undefined });
    const [line] = lines();
    expect(line).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u) as unknown,
      event: "gateway.started",
      port: 8080,
      tls: true,
      servers: ["a", "b"],
    });
  });

  it("below the level is not written", () => {
    const { log, lines } = logInto({ level: "warn" });
    log.debug("gateway.started");
    log.info("gateway.started");
    log.warn("store.failed");
    log.error("store.failed");
    log.fatal("store.failed");
    expect(lines().map(({ level }) => level)).toEqual(["warn", "error", "fatal"]);
  });

  it("stays one line and one event whatever its facts say", () => {
    const { log, lines, text } = logInto();
    log.warn("store.failed", {
      reason: 'x"}\n{"level":"info","event":"forged"}',
      event: "forged",
      level: "forged",
      time: "0",
    });
    expect(text().trimEnd()).not.toContain("\n");
    expect(lines()).toMatchObject([{ event: "store.failed", level: "warn", "fact.event": "forged" }]);
  });

  it("shows of an object its type alone, however deep a secret lies in it", () => {
    const { log, lines, text } = logInto();
    log.info("gateway.started", {
      request: { headers: { authorization: canary } },
      list: [{ canary }, "a"],
      none: null,
      big: 1n,
    });
    expect(lines()).toMatchObject([
      { request: "[object]", list: ["[object]", "a"], none: "[object]", big: "[bigint]" },
    ]);
    expect(text()).not.toContain(canary);
  });

  it("whose event was built from data loses that name", () => {
    const { log, lines } = logInto();
    for (const event of [`login of ${canary}`, "Started", "", "x".repeat(101), "a\nb"]) log.info(event);
    expect(new Set(lines().map(({ event }) => event))).toEqual(new Set(["log.event-unnamed"]));
  });

  it("cuts texts to their bound", () => {
    const { log, lines } = logInto({ textCharsMax: 10 });
    log.info("store.failed", { text: "x".repeat(11), list: ["y".repeat(11)] });
    expect(lines()).toMatchObject([{ text: "x".repeat(10), list: ["y".repeat(10)] }]);
  });
});

const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl";
const canary = "CANARY-9f3b7c";

describe("secrets", () => {
  it.each([
    ["a bearer token", `Authorization: Bearer ${canary}`],
    ["a bearer token in other case", `BEARER   ${canary}`],
    ["basic credentials", `basic ${canary}==`],
    ["a DPoP token", `DPoP ${canary}`],
    ["a URL's user information", `connect to redis://user:${canary}@host:6379 failed`],
    ["a URL's query", `GET https://host/path?code=${canary}&state=1 failed`],
    ["a form body", `grant_type=refresh_token&refresh_token=${canary}&client_secret=${canary}`],
    ["a JSON body", `{"client_secret":"${canary}","password": "${canary}"}`],
    ["a header dump", `x-api-key: ${canary}`],
    ["a cookie", `Set-Cookie: ${canary}; Path=/`],
  ])("are taken out of facts and of foreign messages: %s", (_, text) => {
    const { log, text: written } = logInto();
    log.error("upstream.failed", { reason: text, list: [text] }, new Error(text, { cause: new Error(text) }));
    expect(written()).not.toContain(canary);
    expect(written()).not.toContain(canary.slice(0, 8));
    expect(written()).toContain("[redacted]");
  });

  it("that are JWTs are taken out wherever they stand", () => {
    const { log, text } = logInto();
    log.error("auth.failed", { reason: `token ${jwt} is bad`, list: [jwt] }, new Error(`"${jwt}"`));
    expect(text()).not.toContain("eyJ");
    expect(text()).not.toContain("c2lnbmF0dXJl");
  });

  it.each(["token", "accessToken", "client_secret", "Authorization", "cookie", "apiKey", "api_key", "password"])(
    "under the name %s are replaced whatever they are",
    (name) => {
      const { log, lines } = logInto();
      log.info("auth.failed", { [name]: "plain" });
      expect(lines()).toMatchObject([{ [name]: "[redacted]" }]);
    },
  );

  it("that are opaque go from foreign messages, while our own digests and references stay in facts", () => {
    const { log, lines } = logInto();
    const opaque = "gho_16C7e42F292c6912E7710c838347Ae178B4a";
    const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    log.error("auth.failed", { digest, ref: "7K3MZ9QX4T" }, new Error(`introspection of ${opaque} failed`));
    expect(lines()).toMatchObject([
      { digest, ref: "7K3MZ9QX4T", error: { message: "introspection of [redacted] failed" } },
    ]);
  });

  it("scrubbing leaves ordinary sentences alone", () => {
    const { log, lines } = logInto();
    const sentence = "connect ECONNREFUSED 127.0.0.1:6379 after 3 attempts (see https://host/path)";
    log.error("store.failed", { reason: sentence }, new Error(sentence));
    expect(lines()).toMatchObject([{ reason: sentence, error: { message: sentence } }]);
  });

  it("no text makes the scrubber slow or throw", () => {
    const { log, lines } = logInto();
    const tough = ["://", "eyJ", "Bearer ", "token=", "a-", "a1", "?", "://a?", '"', "[redacted]"];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tough), { minLength: 500, maxLength: 1_000 }), (pieces) => {
        log.info("store.failed", { text: pieces.join("") }, new Error(pieces.join("")));
      }),
      { numRuns: 100 },
    );
    expect(lines()).toHaveLength(100);
  });
});

describe("errors", () => {
  it("keep name, code, message and causes, and nothing that a library hung on them", () => {
    const { log, lines, text } = logInto();
    const foreign = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED", command: { args: [canary] } });
    log.error("store.failed", {}, new StoreUnavailable("the store failed", { cause: foreign }));
    expect(lines()).toMatchObject([
      {
        error: {
          name: "StoreUnavailable",
          message: "the store failed",
          cause: { name: "Error", code: "ECONNREFUSED", message: "connect refused" },
        },
      },
    ]);
    expect(text()).not.toContain(canary);
  });

  it("show frames of our own code and never the stack's own copy of the message", () => {
    const { log, lines, text } = logInto();
    const error = new Error("short");
    error.stack = [
      `Error: Bearer ${canary}`,
      "    at parse (/app/node_modules/lib/src/parse.js:1:2)",
      "    at decide (/app/dist/policy/decide.js:10:20)",
      "    at /app/src/policy/decide.ts:11:2",
      "    at node:internal/process:1:2",
      `    at ${canary} /src/x`,
    ].join("\n");
    log.error("gateway.fault", {}, error);
    expect(lines()).toMatchObject([
      { error: { stack: ["at decide (/app/dist/policy/decide.js:10:20)", "at /app/src/policy/decide.ts:11:2"] } },
    ]);
    expect(text()).not.toContain(canary);
  });

  it("follow causes to a bound, also when they run in a circle", () => {
    const { log, text } = logInto();
    const error = new Error("round");
    error.cause = error;
    log.error("gateway.fault", {}, error);
    expect(text().match(/"message":"round"/gu)).toHaveLength(5);
  });

  it.each([["text"], [{ token: canary }], [null], [7]])(
    "that are none (%j) are named by their type alone",
    (thrown) => {
      const { log, lines, text } = logInto();
      log.error("gateway.fault", {}, thrown);
      expect(lines()).toMatchObject([{ error: { name: "not an Error", message: typeof thrown } }]);
      expect(text()).not.toContain(canary);
    },
  );
});
