import { afterAll, beforeAll, describe, expect, it } from "vitest";
import fc from "fast-check";
import { readFilePath } from "../../src/gateway/files/file-path.ts";
import { limits } from "../../src/model/limits.ts";
import { refusalIn } from "../journey/wire-client.ts";
import { startFilesBench, type FilesBench } from "./files-bench.ts";

let bench: FilesBench;

beforeAll(async () => {
  // As wide as routes can be, so that nothing but the reading of paths stands between.
  bench = await startFilesBench({ files: { routes: ["/**"], types: ["application/pdf"] } });
});
afterAll(() => bench.close());

/** Of `/files/support/crm`, what follows it in the request line. */
const refused: readonly (readonly [tail: string, status: number])[] = [
  ["//reports/7.pdf", 400],
  ["/reports//7.pdf", 400],
  ["/reports/7.pdf/", 400],
  ["/", 400],
  ["", 400],
  ["/reports/7.pdf?", 400],
  ["/.", 400],
  ["/..", 400],
  ["/./reports/7.pdf", 400],
  ["/reports/../7.pdf", 400],
  ["/reports/..", 400],
  ["/../../crm/reports/7.pdf", 400],
  ["/reports/...", 400],
  ["/reports/..;/7.pdf", 400],
  ["/reports/;/7.pdf", 400],
  ["/reports/7.pdf;v=1", 400],
  ["/reports/%3Bv/7.pdf", 400],
  ["/reports/%2e%2e/7.pdf", 400],
  ["/reports/%2E./7.pdf", 400],
  ["/reports/%252e%252e/7.pdf", 400],
  ["/reports/%25252e%25252e/7.pdf", 400],
  ["/reports/%2525252525252e", 400],
  ["/reports%2f7.pdf", 400],
  ["/reports%2F..%2F7.pdf", 400],
  ["/reports%252f7.pdf", 400],
  ["/reports%5c7.pdf", 400],
  ["/reports%255c..%255c7.pdf", 400],
  ["/reports\\7.pdf", 400],
  ["/reports\\..\\7.pdf", 400],
  ["/reports/7.pdf%00", 400],
  ["/reports/7%00.pdf", 400],
  ["/reports/7%2500.pdf", 400],
  ["/reports/7%0d%0aX-Injected:%201", 400],
  ["/reports/7%7f.pdf", 400],
  ["/reports/7%C2%85.pdf", 400],
  ["/reports/7.pdf%3Fa=1", 400],
  ["/reports/7.pdf%23a", 400],
  ["/reports/7.pdf#a", 400],
  ["/reports/%ff", 400],
  ["/reports/%c0%ae%c0%ae/7.pdf", 400],
  ["/reports/%ed%a0%80", 400],
  ["/reports/%f8%88%80%80%80", 400],
  ["/reports/7%", 400],
  ["/reports/7%zz", 400],
  ["/reports/7%u002e", 400],
  ["/reports/7.pdf.", 400],
  ["/reports/7.pdf%20", 400],
  ["/reports/%20/7.pdf", 400],
  ["/reports/..hidden", 400],
  ["/reports/a../7.pdf", 400],
  ["/reports/<7>.pdf", 400],
  ['/reports/"7".pdf', 400],
  ["/reports/{7}|^`.pdf", 400],
  ["/reports/7.pdf?a=%00", 400],
  ["/reports/7.pdf?a=%0d%0a", 400],
  ["/reports/7.pdf?a=%ff", 400],
  ["/reports/7.pdf?a=<b>", 400],
  ["/reports/7.pdf?a=1#b", 400],
  ["/reports/b\u00fcro.pdf", 400],
  [`/${"a".repeat(limits.uriCharsMax)}`, 400],
];

describe("a path that two readers might take differently", () => {
  it.each(refused)("%s is refused, and nothing is dialled", async (tail, status) => {
    const before = bench.fetched().length;
    const answer = await bench.raw(`/files/support/crm${tail}`);
    expect(answer.status).toBe(status);
    expect(bench.fetched().length).toBe(before);
  });

  it.each([
    ["/files//support/crm/reports/7.pdf"],
    ["/files/support//crm/reports/7.pdf"],
    ["/files/support/../support/crm/reports/7.pdf"],
    ["/files/support/%63rm/reports/7.pdf"],
    ["/files/%73upport/crm/reports/7.pdf"],
    ["/%66iles/support/crm/reports/7.pdf"],
    ["//files/support/crm/reports/7.pdf"],
    ["/./files/support/crm/reports/7.pdf"],
    ["/FILES/support/crm/reports/7.pdf"],
    ["/files/SUPPORT/crm/reports/7.pdf"],
    ["/files/support/CRM/reports/7.pdf"],
    ["/files/support%2fcrm/reports/7.pdf"],
    ["/files/constructor/crm/reports/7.pdf"],
    ["/files/support/__proto__/reports/7.pdf"],
    ["/files/support/crm"],
    ["/files/support"],
    ["/files/"],
    ["/files"],
  ])("%s names no file of anybody", async (target) => {
    const before = bench.fetched().length;
    const answer = await bench.raw(target);
    expect([400, 404]).toContain(answer.status);
    expect(bench.fetched().length).toBe(before);
  });

  it.each([["/mcp"], ["/MCP"], ["/%6dcp"], ["/mcp?a=1"]])("%s is the MCP endpoint, and no file", async (tail) => {
    const before = bench.fetched().length;
    expect((await bench.raw(`/files/support/crm${tail}`)).status).toBe(404);
    expect(bench.fetched().length).toBe(before);
  });

  it("an absolute request target is no path of a file", async () => {
    const answer = await bench.raw(`http://${bench.gateway.host}/files/support/crm/reports/7.pdf`);
    expect([answer.status, bench.fetched().filter(({ path }) => path === "/reports/7.pdf").length]).toEqual([404, 0]);
  });
});

describe("a path that everybody reads alike", () => {
  it.each([
    ["/reports/7.pdf"],
    ["/7"],
    ["/reports/2026/11/a-b_c~d.pdf"],
    ["/reports/.well-known"],
    ["/reports/a...b.pdf"],
    ["/reports/b%C3%BCro%20nord.pdf"],
    ["/reports/b%c3%bcro.pdf"],
    ["/reports/%41.pdf"],
    ["/reports/%2541.pdf"],
    ["/reports/a!$&'()*+,=:@.pdf"],
    ["/reports/7.pdf?a=b&c=%2F%5C..%2F?/;x='1'"],
  ])("%s arrives byte by byte", async (target) => {
    const answer = await bench.raw(`/files/support/crm${target}`);
    expect(answer.status).toBe(200);
    expect(bench.fetched().at(-1)!.path).toBe(target);
  });

  it("at the longest length that is taken, and no longer", async () => {
    const longest = `/files/support/crm/${"a".repeat(limits.uriCharsMax - "/files/support/crm/".length)}`;
    expect((await bench.raw(longest)).status).toBe(200);
    expect(refusalIn(await bench.raw(`${longest}a`)).code).toBe("URL_MALFORMED");
  });

  it("has no dot segment, separator or control character below any of its encodings, whatever it is", () => {
    const pieces = fc.constantFrom(
      "/",
      ".",
      "..",
      "%2e",
      "%2f",
      "%5c",
      "%25",
      "%252e",
      "%00",
      "a",
      "%C3",
      "%BC",
      ";",
      "%3b",
      "\\",
      "?",
      "#",
      "%20",
      "%2525",
    );
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 12 }), (parts) => {
        const read = readFilePath(`/files/s/u/${parts.join("")}`);
        if (!read.ok) return;
        let text = read.value.path;
        for (let round = 0; round < 8; round += 1) {
          expect(text).not.toMatch(/(?:^|\/)\.{1,2}(?:\/|$)|[\\;#]|\/\/|\p{Cc}/u);
          expect(text.split("/").length).toBe(read.value.path.split("/").length);
          if (text.includes("%")) text = decodeURIComponent(text);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
