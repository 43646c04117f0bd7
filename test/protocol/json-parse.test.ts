import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import type { Json } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import type { RefusalCode } from "../../src/model/refusal.ts";
import { parseJson } from "../../src/protocol/json/parse.ts";
import type { JsonBounds } from "../../src/protocol/json/parse.ts";
import { writeJson } from "../../src/protocol/json/write.ts";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function parsed(text: string): Json {
  const result = parseJson(bytes(text));
  if (!result.ok) throw new Error(`${text} was refused as ${result.refusal.code}`);
  return result.value;
}

function refusalOf(text: string, bounds?: JsonBounds): RefusalCode | "accepted" {
  const result = parseJson(bytes(text), bounds);
  return result.ok ? "accepted" : result.refusal.code;
}

describe("parseJson", () => {
  it.each<[why: string, text: string, code: RefusalCode | "accepted"]>([
    ["no text", "", "JSON_MALFORMED"],
    ["white space alone", " \n", "JSON_MALFORMED"],
    ["a byte order mark", "\u{feff}{}", "JSON_MALFORMED"],
    ["a second value", "{}{}", "JSON_MALFORMED"],
    ["trailing text", '{"a":1}x', "JSON_MALFORMED"],
    ["trailing white space", '{"a":1} \r\n\t', "accepted"],
    ["NaN", '{"a":NaN}', "JSON_MALFORMED"],
    ["Infinity", '{"a":Infinity}', "JSON_MALFORMED"],
    ["-Infinity", '{"a":-Infinity}', "JSON_MALFORMED"],
    ["a comment", '{"a":1/*x*/}', "JSON_MALFORMED"],
    ["a trailing comma", '{"a":1,}', "JSON_MALFORMED"],
    ["single quotes", "{'a':1}", "JSON_MALFORMED"],
    ["a leading zero", '{"a":012}', "JSON_MALFORMED"],
    ["a leading plus", '{"a":+1}', "JSON_MALFORMED"],
    ["a bare fraction", '{"a":.5}', "JSON_MALFORMED"],
    ["a bare exponent", '{"a":1e}', "JSON_MALFORMED"],
    ["a raw control character in a string", '{"a":"\u0001"}', "JSON_MALFORMED"],
    ["a raw NUL after a name", '{"a\u0000":1}', "JSON_MALFORMED"],
    ["an unclosed string", '{"a":"', "JSON_MALFORMED"],
    ["an unclosed string that ends in a backslash", '{"a":"\\', "JSON_MALFORMED"],
    ["brackets closed in the wrong order", '{"a":[}]', "JSON_MALFORMED"],
    ["an escaped NUL", '{"a":"\\u0000"}', "accepted"],
    ["a key twice", '{"a":1,"a":1}', "JSON_DUPLICATE_KEY"],
    ["a key twice, once escaped", '{"method":1,"\\u006dethod":2}', "JSON_DUPLICATE_KEY"],
    ["a key twice, deep inside", '[{"x":[{"b":{},"c":1,"b":[]}]}]', "JSON_DUPLICATE_KEY"],
    ["a key twice, the first hiding members", '{"a":{"b":1},"a":2}', "JSON_DUPLICATE_KEY"],
    ["the empty key twice", '{"":1,"":2}', "JSON_DUPLICATE_KEY"],
    ["an index-like key twice", '{"0":1,"0":2}', "JSON_DUPLICATE_KEY"],
    ["the same key in siblings and parents", '{"id":{"id":1},"b":{"id":1}}', "accepted"],
    ["keys that differ in case", '{"a":1,"A":2}', "accepted"],
    ["colons and quotes in strings", '{"a:\\"b":":\\\\","c":"{[\\"1e999\\":]}"}', "accepted"],
    ["__proto__", '{"__proto__":{"admin":true}}', "JSON_FORBIDDEN_KEY"],
    ["__proto__ with a primitive", '{"a":[{"__proto__":"1"}]}', "JSON_FORBIDDEN_KEY"],
    ["__proto__, escaped", '{"\\u005f_proto__":1}', "JSON_FORBIDDEN_KEY"],
    ["__proto__ beside a number no double holds", '{"a":9007199254740993,"b":{"__proto__":"5"}}', "JSON_FORBIDDEN_KEY"],
    ["__proto__ as text", '{"a":"__proto__"}', "accepted"],
    ["constructor and prototype as keys", '{"constructor":{"prototype":1},"toString":2}', "accepted"],
    ["a number beyond every double", '{"v":1e999}', "JSON_NUMBER_OVERFLOW"],
    ["the same, negative", "[-1e400]", "JSON_NUMBER_OVERFLOW"],
    ["the largest double", "[1.7976931348623157e308]", "accepted"],
    ["1e999 as text", '["1e999"]', "accepted"],
    ["a high surrogate alone", '{"t":"\\ud83d"}', "JSON_LONE_SURROGATE"],
    ["a low surrogate alone", '{"t":"\\ude00x"}', "JSON_LONE_SURROGATE"],
    ["a pair the wrong way round", '{"t":"\\ude00\\ud83d"}', "JSON_LONE_SURROGATE"],
    ["a lone surrogate in a key", '{"\\ud83d":1}', "JSON_LONE_SURROGATE"],
    ["a pair", '{"t":"\\ud83d\\ude00"}', "accepted"],
    ["a backslash before u and digits", '{"t":"\\\\ud83d"}', "accepted"],
  ])("%s: %j is %s", (_why, text, code) => {
    expect(refusalOf(text)).toBe(code);
  });

  it.each([
    ["a lone continuation byte", [0x22, 0x80, 0x22]],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
    ["a surrogate in UTF-8", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a character cut off", [0x22, 0xe2, 0x82, 0x22]],
    ["UTF-16", [0xff, 0xfe, 0x22, 0x00]],
  ])("%s is refused as JSON_NOT_UTF8", (_why, raw) => {
    const result = parseJson(Uint8Array.from(raw));
    expect(result.ok ? "accepted" : result.refusal.code).toBe("JSON_NOT_UTF8");
  });

  it("reads only the part of the buffer that the view covers", () => {
    const whole = bytes('xx{"a":"ä"}yy');
    expect(parseJson(whole.subarray(2, whole.length - 2))).toEqual({ ok: true, value: { a: "ä" } });
  });

  it("never quotes the text in a refusal", () => {
    const result = parseJson(bytes('{"password":"hunter2",,}'));
    expect(JSON.stringify(result)).not.toMatch(/hunter2|password/);
  });
});

describe("bounds", () => {
  it.each([
    [limits.jsonDepthMax, "accepted"],
    [limits.jsonDepthMax + 1, "JSON_TOO_DEEP"],
    [100_000, "JSON_TOO_DEEP"],
  ])("%i arrays inside each other: %s", (depth, code) => {
    expect(refusalOf("[".repeat(depth) + "]".repeat(depth))).toBe(code);
  });

  it("counts objects and arrays alike, and siblings once", () => {
    const bounds = { ...limits, jsonDepthMax: 3, jsonKeysPerObjectMax: 9 };
    expect(refusalOf('{"a":[{}],"b":[{}]}', bounds)).toBe("accepted");
    expect(refusalOf('{"a":[{"c":{}}]}', bounds)).toBe("JSON_TOO_DEEP");
  });

  it.each([
    [limits.jsonKeysPerObjectMax, "accepted"],
    [limits.jsonKeysPerObjectMax + 1, "JSON_TOO_MANY_KEYS"],
  ])("%i keys in one object: %s", (count, code) => {
    const members = Array.from({ length: count }, (_, index) => `"k${index}":0`);
    expect(refusalOf(`{"inner":{${members.join(",")}}}`)).toBe(code);
  });

  it("bounds each object by itself", () => {
    expect(refusalOf('[{"a":1,"b":2},{"a":1,"b":2}]', { ...limits, jsonDepthMax: 9, jsonKeysPerObjectMax: 2 })).toBe(
      "accepted",
    );
  });
});

describe("numbers", () => {
  it.each([
    ["0", 0],
    ["-0", -0],
    ["1.0", 1],
    ["1e2", 100],
    ["1E+2", 100],
    ["0.10", 0.1],
    ["0.1e1", 1],
    ["-12.50", -12.5],
    ["0e99999", 0],
    ["-0.0", -0],
    ["999999999999999", 999_999_999_999_999],
    ["9007199254740992", 9_007_199_254_740_992],
    ["100000000000000000000000", 1e23],
    ["5e-324", 5e-324],
    ["123456789012345680000", 123456789012345680000],
  ])("%s is a plain double", (source, value) => {
    const found = parsed(`[${source}]`);
    expect(found).toEqual([value]);
    expect(Object.is((found as Json[])[0], value)).toBe(true);
  });

  it.each([
    "9007199254740993",
    "-9007199254740993",
    "0.12345678901234567890",
    "12345678901234567890",
    "1e-400",
    "4.9e-324",
    "-1.00000000000000000001",
    "1e-99999999999999999999",
    "9007199254740993.0",
  ])("%s keeps its digits, as no double holds it", (source) => {
    for (const text of [source, `[${source}]`, `{"a":{"b":[1,${source},"x"]}}`]) {
      expect(writeJson(parsed(text))).toBe(text);
    }
    expect(parsed(source)).toEqual(new ExactNumber(source));
  });

  it("keeps several exact numbers apart, with escapes and pairs between them", () => {
    const text =
      '{"a":9007199254740993,"b\\"":["9007199254740993",0.12345678901234567890,-0,"😀"],"c":9007199254740995}';
    expect(parsed(text)).toEqual({
      a: new ExactNumber("9007199254740993"),
      'b"': ["9007199254740993", new ExactNumber("0.12345678901234567890"), -0, "😀"],
      c: new ExactNumber("9007199254740995"),
    });
  });

  it("finds a key twice beside exact numbers too", () => {
    expect(refusalOf('{"a":9007199254740993,"a":9007199254740993}')).toBe("JSON_DUPLICATE_KEY");
  });

  it("takes digits that fill the text", () => {
    const digits = "1".padEnd(200_000, "0");
    expect(refusalOf(digits)).toBe("JSON_NUMBER_OVERFLOW");
    expect(parsed(`0.${digits}1`)).toBeInstanceOf(ExactNumber);
  });

  it("a double's own spelling is always plain, and an integer is plain exactly when it comes back", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const source = Object.is(value, -0) ? "-0" : String(value);
        expect(Object.is(parsed(source), value)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }), (value) => {
        const found = parsed(value.toString());
        expect(typeof found === "number").toBe(decimal(Number(value)) === value);
        expect(writeJson([found, 0])).toBe(typeof found === "number" ? JSON.stringify([found, 0]) : `[${value},0]`);
      }),
    );
  });
});

/** The integer that a double's shortest form spells. */
function decimal(value: number): bigint {
  const [mantissa = "", exponent = "0"] = String(value).split("e+");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return BigInt((whole + fraction).padEnd(whole.length + Number(exponent), "0"));
}

/** A document written down by hand: what it means, and what is wrong with it. */
interface Written {
  readonly text: string;
  readonly duplicate: boolean;
  readonly depth: number;
}

const key = fc.constantFrom("a", "b", "\\u0061", "\\u0062", "ä", "\\u00e4", "a\\\\", '\\"', "");
const scalar = fc.oneof(
  fc.constantFrom(
    "1",
    "-0",
    "1.50",
    "9007199254740993",
    "true",
    "null",
    '"a:b"',
    '"\\\\"',
    '"\\"\\\\\\""',
    '"[{"',
    "1e5",
  ),
  fc.string().map((text) => JSON.stringify(text)),
);
const document = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar.map((text) => ({ text, duplicate: false, depth: 0 })),
    fc.array(tie("value"), { maxLength: 4 }).map((elements) => ({
      text: `[${elements.map(({ text }) => text).join(" ,")}]`,
      ...inside(elements),
    })),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((members) => ({
      text: `{${members.map(([name, { text }]) => `"${name}" : ${text}`).join(",")}}`,
      ...inside(members.map(([, value]) => value)),
      ...(new Set(members.map(([name]) => JSON.parse(`"${name}"`) as string)).size < members.length
        ? { duplicate: true }
        : {}),
    })),
  ),
})).value;

function inside(children: readonly Written[]): Omit<Written, "text"> {
  return {
    duplicate: children.some(({ duplicate }) => duplicate),
    depth: 1 + Math.max(0, ...children.map(({ depth }) => depth)),
  };
}

describe("any document", () => {
  it("is refused exactly when a key repeats, and else means what it means to the engine", () => {
    fc.assert(
      fc.property(document, ({ text, duplicate }) => {
        expect(refusalOf(text)).toBe(duplicate ? "JSON_DUPLICATE_KEY" : "accepted");
        if (duplicate) return;
        const rewritten = writeJson(parsed(text));
        expect(JSON.parse(rewritten)).toEqual(JSON.parse(text));
        expect(writeJson(parsed(rewritten))).toBe(rewritten);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is too deep exactly when it nests further than the bound", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 0, max: 6 }), ({ text, depth }, jsonDepthMax) => {
        const code = refusalOf(text, { ...limits, jsonDepthMax, jsonKeysPerObjectMax: 99 });
        expect(code === "JSON_TOO_DEEP").toBe(depth > jsonDepthMax);
      }),
    );
  });

  it("that the engine refuses is refused, whatever was cut out of it or put into it", () => {
    const edit = fc.tuple(
      fc.nat(200),
      fc.nat(3),
      fc.constantFrom("", '"', "\\", "{", "}", ":", ",", "1", "e9", "-", "\u{0}"),
    );
    fc.assert(
      fc.property(document, edit, ({ text }, [at, cut, put]) => {
        const edited = text.slice(0, at) + put + text.slice(at + cut);
        if (refusalOf(edited) === "accepted") expect(() => JSON.parse(edited) as unknown).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });
});
