import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { until } from "../journey/gateway-under-test.ts";
import { send, type Received } from "../journey/http-client.ts";
import { refusalIn } from "../journey/wire-client.ts";
import { pdf, startFilesBench, type FileScript, type FilesBench } from "./files-bench.ts";

const secret = "Bearer upstream-secret-2f8c1b";
const at = (path: string): Record<string, unknown> => ({ upstream: "crm", resource: path });

let bench: FilesBench;

beforeAll(async () => {
  bench = await startFilesBench({
    upstream: { credential: { type: "static", headers: { Authorization: "${env:CRM}" } } },
    env: { CRM: secret },
    files: { routes: ["/reports/*", "/signed/**", "/export"], types: ["application/pdf", "text/csv"], bytesMax: 1_000 },
    rules: [
      { id: "all", effect: "allow", who: { groups: { any: ["corp:everyone"] } }, what: { anything: true } },
      { id: "secret", effect: "deny", who: { anyone: true }, what: at("http://127.0.0.1:*/reports/secret.pdf") },
      { id: "bob", effect: "deny", who: { subject: "bob" }, what: { upstream: "crm" } },
      {
        id: "carol",
        effect: "allow",
        who: { subject: "carol" },
        what: at("http://127.0.0.1:*/reports/*"),
        stepUp: { scopes: { all: ["files:read"] } },
      },
    ],
  });
});

afterAll(() => bench.close());

let seen = 0;
beforeEach(() => {
  seen = bench.fetched().length;
  bench.answer((_request, wire) => {
    wire.respond(200, "application/pdf", pdf);
  });
});

const file = "/files/support/crm/reports/7.pdf";
const fetchedNow = (): string[] =>
  bench
    .fetched()
    .slice(seen)
    .map(({ method, path }) => `${method} ${path}`);

describe("who may fetch what, with which method", () => {
  it.each([
    ["GET", "good", file, 200, ""],
    ["HEAD", "good", file, 200, ""],
    ["GET", "none", file, 401, "AUTH_TOKEN_MISSING"],
    ["HEAD", "none", file, 401, ""],
    ["POST", "none", file, 401, "AUTH_TOKEN_MISSING"],
    ["OPTIONS", "none", file, 401, "AUTH_TOKEN_MISSING"],
    ["GET", "of another server", file, 401, "AUTH_AUDIENCE_MISMATCH"],
    ["GET", "expired", file, 401, "AUTH_TOKEN_EXPIRED"],
    ["GET", "twice", file, 401, "AUTH_TOKEN_MALFORMED"],
    ["GET", "in the query", `${file}?access_token=`, 401, "AUTH_TOKEN_MISSING"],
    ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "SUBSCRIBE"].map(
      (method) => [method, "good", file, 405, "FILE_METHOD_REFUSED"] as const,
    ),
    ["GET", "good", "/files/support/crm/reports/secret.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "bob's", file, 404, "ROUTE_UNKNOWN"],
    ["GET", "good", "/files/support/crm/other/7.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "good", "/files/support/tickets/reports/7.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "good", "/files/support/nobody/reports/7.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "good", "/files/nowhere/crm/reports/7.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "of another server", "/files/sales/crm/reports/7.pdf", 404, "ROUTE_UNKNOWN"],
    ["GET", "good", "/files/support/crm/mcp", 404, "ROUTE_UNKNOWN"],
  ] as const)("%s with a token that is %s for %s: %i %s", async (...[method, kind, path, status, code]) => {
    const answer = await request(method, kind, path);
    expect(answer.status).toBe(status);
    expect(refusalIn(answer).code).toBe(code);
    expect(fetchedNow()).toEqual(status === 200 ? [`${method} /reports/7.pdf`] : []);
    if (status === 401)
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer .*resource_metadata="http.*\/support\/mcp"/);
    if (status === 405) expect(answer.headers.allow).toBe("GET, HEAD");
  });

  async function request(method: string, kind: string, path: string): Promise<Received> {
    const headers: Record<string, string | string[] | undefined> = {};
    const good = `Bearer ${await bench.token()}`;
    if (kind === "good") headers["authorization"] = good;
    if (kind === "bob's") headers["authorization"] = `Bearer ${await bench.token({ sub: "bob" })}`;
    if (kind === "of another server") headers["authorization"] = `Bearer ${await bench.token({}, "sales")}`;
    if (kind === "expired") headers["authorization"] = `Bearer ${await bench.token({ exp: 1_000_000 })}`;
    if (kind === "twice") return bench.raw(path, { method, headers: [`Authorization: ${good}`] });
    const target = kind === "in the query" ? path + good.slice(7) : path;
    return send({ port: bench.gateway.port, path: target, method, headers });
  }

  it("a file for which only scopes are missing asks for all of them", async () => {
    const carol = { sub: "carol", groups: [] };
    const headers = { authorization: `Bearer ${await bench.token(carol)}` };
    const answer = await bench.get(file, { headers });
    expect([answer.status, refusalIn(answer).code]).toEqual([403, "SCOPE_INSUFFICIENT"]);
    expect(answer.headers["www-authenticate"]).toContain('error="insufficient_scope"');
    expect(answer.headers["www-authenticate"]).toContain('scope="files:read"');
    expect(fetchedNow()).toEqual([]);
    const scoped = { authorization: `Bearer ${await bench.token({ ...carol, scope: "files:read" })}` };
    expect((await bench.get(file, { headers: scoped })).status).toBe(200);
  });

  it("answers alike what is denied, not there, foreign, unknown, and missing at the upstream", async () => {
    bench.answer((_request, wire) => {
      wire.respond(404, "text/html", "<h1>no such report, says Tomcat</h1>");
    });
    const answers = await Promise.all(
      [
        "support/crm/reports/secret.pdf",
        "support/crm/x/7.pdf",
        "support/tickets/reports/7.pdf",
        "nowhere/crm/reports/7.pdf",
        "support/crm/reports/gone.pdf",
      ].map((path) => bench.get(`/files/${path}`)),
    );
    const forms = answers.map(({ status, text, headers }) => {
      const told = Object.entries(headers).filter(([name]) => name !== "date");
      return JSON.stringify([status, text.replace(/"ref":"\w+"/, ""), told.sort()]);
    });
    expect(new Set(forms).size).toBe(1);
    expect(forms[0]).toContain("404");
  });
});

describe("what an upstream receives", () => {
  it("holds nothing of the caller but what describes the file wanted, and the upstream's own credential", async () => {
    const token = await bench.token();
    await send({
      port: bench.gateway.port,
      path: file,
      method: "GET",
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/pdf",
        "accept-language": "de",
        "accept-encoding": "gzip",
        cookie: "canary=1",
        forwarded: "for=canary",
        "x-forwarded-for": "canary",
        "x-canary": "canary",
        "mcp-session-id": "canary",
        "mcp-protocol-version": "2025-11-25",
        "proxy-authorization": "canary",
        referer: "http://canary/",
        "user-agent": "canary",
        origin: bench.gateway.publicUrl,
        te: "trailers",
        connection: "x-listed, authorization",
        "x-listed": "canary",
        "sallyport-errand": "1",
        "if-none-match": '"v1"',
      },
    });
    const [received] = bench.fetched().slice(seen);
    const headers = received!.headers.map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(headers)).toEqual({
      host: `127.0.0.1:${bench.upstream.port}`,
      connection: "keep-alive",
      accept: "application/pdf",
      "accept-language": "de",
      "accept-encoding": "identity",
      "if-none-match": '"v1"',
      authorization: secret,
    });
    expect(received!.raw.toString()).not.toContain(token);
    expect(received!.raw.toString()).not.toContain("canary");
  });

  it("is no body, even when the client sends one", async () => {
    const answer = await bench.raw(file, { headers: ["Content-Type: application/json", "Content-Length: 2"] });
    expect([answer.status, answer.headers.connection]).toEqual([200, "close"]);
    expect(bench.fetched().at(-1)!.body).toBe("");
  });

  it("is the query as it was written", async () => {
    const query = "?id=7&b=%41%2F&a='x'&a=+&&=";
    expect((await bench.get(`/files/support/crm/export${query}`)).status).toBe(200);
    expect(fetchedNow()).toEqual([`GET /export${query}`]);
  });
});

const ordinary: readonly string[] = [
  "Set-Cookie: canary=1",
  `X-Echo: ${secret}`,
  "Location: http://canary/",
  'ETag: "v1"',
];

describe("what becomes of an upstream's answer", () => {
  const answers: readonly (readonly [name: string, script: FileScript, status: number, code: string])[] = [
    [
      "a file",
      (_r, w) => {
        w.respond(200, "application/pdf", pdf, ordinary);
      },
      200,
      "",
    ],
    [
      "a type with parameters",
      (_r, w) => {
        w.respond(200, "Text/CSV; header=present; charset=UTF-8", "a,b");
      },
      200,
      "",
    ],
    [
      "a type that is not named",
      (_r, w) => {
        w.respond(200, "text/html", "<script>");
      },
      502,
      "FILE_TYPE_REFUSED",
    ],
    [
      "no type",
      (_r, w) => {
        w.respond(200, undefined, pdf);
      },
      502,
      "FILE_TYPE_REFUSED",
    ],
    [
      "two types",
      (_r, w) => {
        w.respond(200, "application/pdf", pdf, ["Content-Type: text/html"]);
      },
      502,
      "FILE_TYPE_REFUSED",
    ],
    [
      "two types in one",
      (_r, w) => {
        w.respond(200, "application/pdf, text/html", pdf);
      },
      502,
      "FILE_TYPE_REFUSED",
    ],
    [
      "coded bytes",
      (_r, w) => {
        w.respond(200, "application/pdf", pdf, ["Content-Encoding: gzip"]);
      },
      502,
      "UPSTREAM_ANSWER_INVALID",
    ],
    [
      "a redirect",
      (_r, w) => {
        w.respond(302, undefined, "", ["Location: http://127.0.0.1:1/"]);
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "a challenge",
      (_r, w) => {
        w.respond(401, undefined, "", ["WWW-Authenticate: Basic"]);
      },
      502,
      "UPSTREAM_AUTH_FAILED",
    ],
    [
      "a refusal",
      (_r, w) => {
        w.respond(403, undefined, secret, ordinary);
      },
      502,
      "UPSTREAM_AUTH_FAILED",
    ],
    [
      "nothing there",
      (_r, w) => {
        w.respond(404, undefined, secret, ordinary);
      },
      404,
      "ROUTE_UNKNOWN",
    ],
    [
      "gone",
      (_r, w) => {
        w.respond(410, undefined, "");
      },
      404,
      "ROUTE_UNKNOWN",
    ],
    [
      "busy",
      (_r, w) => {
        w.respond(503, undefined, secret, ["Retry-After: 0"]);
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "a failure",
      (_r, w) => {
        w.respond(500, "application/pdf", secret, ordinary);
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "no content",
      (_r, w) => {
        w.respond(204, undefined, "");
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "a part nobody asked for",
      (_r, w) => {
        w.respond(206, "application/pdf", "%PDF", ["Content-Range: bytes 0-3/26"]);
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "not modified, unasked",
      (_r, w) => {
        w.respond(304, undefined, "");
      },
      502,
      "UPSTREAM_STATUS_UNEXPECTED",
    ],
    [
      "no HTTP",
      (_r, w) => {
        w.write("220 mail.example.com\r\n");
        w.end();
      },
      502,
      "UPSTREAM_ANSWER_INVALID",
    ],
    [
      "a closed connection",
      (_r, w) => {
        w.end();
      },
      502,
      "UPSTREAM_CLOSED_EARLY",
    ],
    [
      "a reset",
      (_r, w) => {
        w.reset();
      },
      502,
      "UPSTREAM_CLOSED_EARLY",
    ],
    [
      "a head without end",
      (_r, w) => {
        w.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`);
      },
      502,
      "UPSTREAM_ANSWER_TOO_LARGE",
    ],
    [
      "a file at the bound",
      (_r, w) => {
        w.respond(200, "text/csv", "x".repeat(1_000));
      },
      200,
      "",
    ],
    [
      "a byte more",
      (_r, w) => {
        w.respond(200, "text/csv", "x".repeat(1_001));
      },
      502,
      "UPSTREAM_ANSWER_TOO_LARGE",
    ],
    [
      "two lengths",
      (_r, w) => {
        w.write("HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
      },
      502,
      "UPSTREAM_CLOSED_EARLY",
    ],
  ];
  it.each(answers)("%s", async (_name, script, status, code) => {
    bench.answer(script);
    const answer = await bench.get(file);
    expect([answer.status, refusalIn(answer).code]).toEqual([status, code]);
    // Asked once: what fails is not repeated.
    expect(fetchedNow().length).toBe(1);
    const all = JSON.stringify([answer.headers, answer.text]);
    for (const canary of ["canary", "upstream-secret", "set-cookie", "location", "basic"])
      expect(all).not.toMatch(new RegExp(canary, "i"));
    expect(answer.headers).toMatchObject({
      "cache-control": "private, no-store",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
    });
    if (status === 200) expect(answer.headers["content-disposition"]).toMatch(/^attachment; filename="7\.pdf"/);
  });

  it("is the type's essence and its charset, the validators that have their form, and nothing else", async () => {
    bench.answer((_request, wire) => {
      const headers = [
        ...ordinary,
        "Last-Modified: Sun, 29 Nov 2026 10:00:00 GMT",
        "Accept-Ranges: bytes",
        'Content-Disposition: inline; filename="../../x.exe"',
      ];
      wire.respond(200, 'Text/CSV; header=present; charset="UTF-8"', "a,b", headers);
    });
    const { headers } = await bench.get(file);
    expect(headers).toEqual({
      date: expect.any(String) as string,
      "content-type": "text/csv; charset=UTF-8",
      "content-length": "3",
      etag: '"v1"',
      "last-modified": "Sun, 29 Nov 2026 10:00:00 GMT",
      "accept-ranges": "bytes",
      "cache-control": "private, no-store",
      "content-security-policy": "sandbox; default-src 'none'",
      "content-disposition": "attachment; filename=\"7.pdf\"; filename*=UTF-8''7.pdf",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      connection: "close",
    });
  });

  it.each([
    ["/reports/b%C3%BCro%20%22x%22.pdf", `attachment; filename="b_ro _x_.pdf"; filename*=UTF-8''b%C3%BCro%20_x_.pdf`],
    ["/reports/a'b(1)*.pdf", `attachment; filename="a'b(1)_.pdf"; filename*=UTF-8''a%27b%281%29_.pdf`],
    [
      `/reports/${"a".repeat(149)}%F0%9F%98%80.pdf`,
      `attachment; filename="${"a".repeat(149)}_"; filename*=UTF-8''${"a".repeat(149)}_`,
    ],
    ["/reports/%E2%80%AEfdp.exe.pdf", `attachment; filename="_fdp.exe.pdf"; filename*=UTF-8''_fdp.exe.pdf`],
  ])("a file at %s is offered under a name that hides nothing", async (path, disposition) => {
    const answer = await bench.get(`/files/support/crm${path}`);
    expect([answer.status, answer.headers["content-disposition"]]).toEqual([200, disposition]);
  });
});

describe("parts of a file, and files that did not change", () => {
  const part: FileScript = (request, wire) => {
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.header("range") ?? "");
    if (range === null) wire.respond(200, "application/pdf", pdf);
    else
      wire.respond(206, "application/pdf", pdf.slice(Number(range[1]), Number(range[2]) + 1), [
        `Content-Range: bytes ${range[1]}-${range[2]}/${pdf.length}`,
      ]);
  };
  it.each([
    ["one range", "bytes=0-3", 206, "%PDF"],
    ["several ranges", "bytes=0-3,5-7", 200, pdf],
    ["another unit", "lines=0-3", 200, pdf],
    ["an absurd number", `bytes=0-${"9".repeat(16)}`, 200, pdf],
  ])("%s", async (_name, range, status, text) => {
    bench.answer(part);
    const answer = await bench.get(file, { headers: { range } });
    expect([answer.status, answer.text]).toEqual([status, text]);
    expect(answer.headers["content-range"]).toBe(status === 206 ? "bytes 0-3/26" : undefined);
  });

  it.each([
    ["a whole that is larger than the bound", "bytes 0-3/1001", "%PDF", "UPSTREAM_ANSWER_TOO_LARGE"],
    ["a whole at the bound", "bytes 0-3/1000", "%PDF", ""],
    ["a whole of unknown length", "bytes 0-3/*", "%PDF", "UPSTREAM_ANSWER_INVALID"],
    ["a range that does not fit its bytes", "bytes 0-9/26", "%PDF", "UPSTREAM_ANSWER_INVALID"],
    ["a range that ends before it begins", "bytes 3-0/26", "%PDF", "UPSTREAM_ANSWER_INVALID"],
    ["a range beyond the end", "bytes 23-26/26", "%PDF", "UPSTREAM_ANSWER_INVALID"],
  ])("of %s", async (_name, range, body, code) => {
    bench.answer((_request, wire) => {
      wire.respond(206, "application/pdf", body, [`Content-Range: ${range}`]);
    });
    expect(refusalIn(await bench.get(file, { headers: { range: "bytes=0-3" } })).code).toBe(code);
  });

  it("a range nobody can satisfy and a file that did not change have their status and no body", async () => {
    bench.answer((request, wire) => {
      if (request.header("range") === undefined) wire.respond(304, undefined, "", ['ETag: "v1"', "Set-Cookie: a=1"]);
      else wire.respond(416, "text/html", "<h1>no</h1>", ["Content-Range: bytes */26"]);
    });
    const unsatisfied = await bench.get(file, { headers: { range: "bytes=99-", "if-range": '"v1"' } });
    expect([unsatisfied.status, unsatisfied.headers["content-range"], unsatisfied.text]).toEqual([
      416,
      "bytes */26",
      "",
    ]);
    expect(bench.fetched().at(-1)!.header("if-range")).toBe('"v1"');
    const unchanged = await bench.get(file, { headers: { "if-none-match": '"v1"' } });
    expect([unchanged.status, unchanged.headers.etag, unchanged.text]).toEqual([304, '"v1"', ""]);
    expect(unchanged.headers["set-cookie"]).toBeUndefined();
  });
});

describe("evidence of a file", () => {
  const eventsOf = async (ref: string, count: number): Promise<AuditEvent[]> => {
    const found = (): AuditEvent[] => bench.gateway.audit().filter((event) => event.ref === ref);
    await until(() => found().length >= count);
    return found();
  };

  it("names the upstream's own URL, the decision and the bytes, before and after", async () => {
    const asked = "/files/support/crm/reports/evidence.pdf";
    await bench.get(asked);
    const found = (): AuditEvent[] => bench.gateway.audit().filter(({ exposedName }) => exposedName === asked);
    await until(() => found().length >= 2);
    const events = found();
    expect(events.map(({ type, method, outcome }) => [type, method, outcome])).toEqual([
      ["attempted", "file/fetch", undefined],
      ["returned", "file/fetch", "returned"],
    ]);
    const { origin } = new URL(bench.upstream.url);
    for (const event of events) {
      expect(event.item).toMatchObject({ upstream: "crm", kind: "resource", name: `${origin}/reports/evidence.pdf` });
      expect(event.decision).toMatchObject({ effect: "allow", rule: "all" });
      expect(event.principal?.subject).toBe("alice");
    }
    expect(events[1]!.resultBytes).toBe(pdf.length);
  });

  it("of a denial says which rule denied, though the caller hears that nothing is there", async () => {
    const { ref } = refusalIn(await bench.get("/files/support/crm/reports/secret.pdf"));
    const [event, ...more] = await eventsOf(ref, 1);
    expect(more).toEqual([]);
    expect([event!.type, event!.refusal?.code, event!.decision]).toMatchObject([
      "denied",
      "POLICY_DENIED",
      { rule: "secret" },
    ]);
  });

  it("of a failure says what the upstream did", async () => {
    bench.answer((_request, wire) => {
      wire.respond(403, undefined, "");
    });
    const { ref } = refusalIn(await bench.get(file));
    const events = await eventsOf(ref, 2);
    expect(events.map(({ type }) => type)).toEqual(["attempted", "failed"]);
    expect(events[1]!.refusal).toEqual({ code: "UPSTREAM_AUTH_FAILED", facts: { status: 403 } });
  });

  it("is counted under a name of its own", async () => {
    expect(await bench.gateway.metrics()).toMatch(
      /sallyport_requests_total\{server="support",column="file",outcome="returned",code="none"\} \d/,
    );
  });
});
