import fc from "fast-check";
import { changeObject, changeScalar, respell, scalar, spell, write } from "./spelled-json.ts";
import type { Member, Spelled } from "./spelled-json.ts";

/** One request on the wire: header lines as they are, and the body in the pieces in which it is sent. */
export interface Mutant {
  readonly headers: readonly string[];
  readonly pieces: readonly Buffer[];
  readonly chunked: boolean;
  /** The body breaks off: the announced length, or the last chunk, never comes. */
  readonly cutShort: boolean;
}

/** A valid request, to be spoilt. */
export interface Base {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly message: unknown;
}

/** Requests made of `bases` by up to three changes of the message, one of its bytes and two of its headers. */
export function mutants(bases: readonly Base[]): fc.Arbitrary<Mutant> {
  return fc
    .record({
      base: fc.constantFrom(...bases),
      changes: fc.array(messageChange, { maxLength: 3 }),
      gap: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom("", " ", "\n", "\r\n\t") },
        fc.constantFrom("\u{a0}", "\f"),
      ),
      bytes: seldom(byteChange),
      headers: seldom(fc.array(headerChange, { minLength: 1, maxLength: 2 })),
      framing: fc.record({
        chunked: fc.boolean(),
        cuts: fc.array(fc.nat(600), { maxLength: 5 }),
        cutShort: fc.nat(19).map((one) => one === 0),
      }),
    })
    .map(({ base, changes, gap, bytes, headers, framing }) => {
      const message = changes.reduce((tree, change) => change(tree), spell(base.message));
      const text = Buffer.from(write(message, gap), "utf8");
      const body = bytes === undefined ? text : bytes(text);
      const lines = (headers ?? []).reduce<readonly string[]>(
        (list, change) => change(list),
        base.headers.map(([name, value]) => `${name}: ${value}`),
      );
      const { chunked, cuts, cutShort } = framing;
      return { headers: lines, pieces: cut(body, cuts), chunked, cutShort };
    });
}

/** Each kind of change alone often enough: one that is always refused would hide what the others do. */
function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

function cut(body: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((place) => Math.min(place, body.length)).sort((a, b) => a - b), body.length];
  return at.slice(1).map((end, index) => body.subarray(at[index], end));
}

type MessageChange = (message: Spelled) => Spelled;

const foreignValues = [
  '"forbidden"',
  '"echo"',
  '"notes://secret/1"',
  '"tools/list"',
  '"tools/call"',
  '"no"',
  '{"q":"no"}',
  "null",
  "true",
  "1",
  "[]",
  "{}",
].map(scalar);

const keys = ["jsonrpc", "id", "method", "params", "name", "uri", "arguments", "q", "n", "_meta", "result", "error"];
const oddKeys = [
  "x",
  "constructor",
  "toString",
  "__proto__",
  "\\u005f_proto__",
  "name\\u0000",
  "method ",
  "hasOwnProperty",
];

const numbers = [
  ..."0 -0 1 7.0 7e0 70e-1 0.1e1 -1 9007199254740993 18446744073709551615 1e400 1e-400 0.1 7.".split(" "),
  ..."0.1000000000000000055511151231257827 01 +1 .5 0x7 NaN Infinity -Infinity 1_000 7n".split(" "),
];

const suffixes = [
  "\\u0000",
  "\\u0000x",
  " ",
  "\\u200b",
  "\\ud800",
  "\\udc00\\ud800",
  "\\ufeff",
  "e\\u0301",
  "\u{2028}",
  "/",
];

const place = fc.nat(40);
const value = fc.constantFrom(...foreignValues);
const front = fc.boolean();

function insert(members: readonly Member[], member: Member, atFront: boolean): Member[] {
  return atFront ? [member, ...members] : [...members, member];
}

/** The same word in other capitals. */
function recase(key: string, how: number): string {
  if (how === 0) return key.toUpperCase();
  if (how === 1) return `${key.slice(0, 2).toUpperCase()}${key.slice(2)}`;
  return key.replace("s", "\u017f").replace("k", "\u212a");
}

const messageChange: fc.Arbitrary<MessageChange> = fc.oneof(
  // A key twice, spelled alike or otherwise.
  fc.tuple(place, place, value, front, fc.nat(3)).map(([at, which, twin, atFront, escapes]): MessageChange => {
    return (message) =>
      changeObject(message, at, (members) => {
        const [key] = members[which % Math.max(1, members.length)] ?? ['"name"'];
        return insert(members, [escapes === 0 ? key : respell(key, escapes), twin], atFront);
      });
  }),
  // A key in other capitals, next to the right one or in its place.
  fc.tuple(place, place, value, front, fc.nat(2), fc.boolean()).map(([at, which, twin, atFront, how, replaces]) => {
    return (message: Spelled) =>
      changeObject(message, at, (members) => {
        const index = which % Math.max(1, members.length);
        const [key, own] = members[index] ?? ['"name"', twin];
        if (replaces) return members.map((member, there) => (there === index ? [recase(key, how), own] : member));
        return insert(members, [recase(key, how), twin], atFront);
      });
  }),
  // A member nobody asked for, or that belongs elsewhere.
  fc.tuple(place, fc.constantFrom(...keys, ...oddKeys), value, front).map(([at, key, added, atFront]) => {
    return (message: Spelled) => changeObject(message, at, (members) => insert(members, [`"${key}"`, added], atFront));
  }),
  fc.tuple(place, place).map(([at, which]) => (message: Spelled) => {
    return changeObject(message, at, (members) => members.filter((_, there) => there !== which % members.length));
  }),
  fc.tuple(place, fc.integer({ min: 1, max: 3 })).map(([at, nth]) => (message: Spelled) => {
    return changeScalar(message, at, (text) => respell(text, nth));
  }),
  fc.tuple(place, fc.integer({ min: 1, max: 3 })).map(([at, nth]) => (message: Spelled) => {
    return changeObject(message, at, (members) => members.map(([key, own]) => [respell(key, nth), own]));
  }),
  fc.tuple(place, fc.constantFrom(...suffixes)).map(([at, suffix]) => (message: Spelled) => {
    return changeScalar(message, at, (text) => (text.endsWith('"') ? `${text.slice(0, -1)}${suffix}"` : text));
  }),
  fc.tuple(place, fc.constantFrom(...numbers)).map(([at, number]) => (message: Spelled) => {
    return changeScalar(message, at, (text) => (text.startsWith('"') ? text : number));
  }),
  fc.tuple(place, value).map(
    ([at, other]) =>
      (message: Spelled) =>
        changeScalar(message, at, () => write(other)),
  ),
  fc.tuple(place, fc.constantFrom(1, 5, 60, 70)).map(([at, depth]) => (message: Spelled) => {
    return changeScalar(message, at, (text) => `${"[".repeat(depth)}${text}${"]".repeat(depth)}`);
  }),
  fc.constantFrom<MessageChange>(
    (message) => ({ kind: "array", elements: [message] }),
    (message) => ({ kind: "array", elements: [message, message] }),
    (message) => ({ kind: "array", elements: [{ kind: "array", elements: [message] }] }),
    (message) => ({ kind: "object", members: [['"params"', message]] }),
  ),
);

type ByteChange = (body: Buffer) => Buffer;

const byteChange: fc.Arbitrary<ByteChange> = fc.oneof(
  fc.constantFrom("\u{feff}", " \n", "{}", "\0", "//x\n").map((text): ByteChange => {
    return (body) => Buffer.concat([Buffer.from(text), body]);
  }),
  fc.constantFrom("\n", "{}", "\0", "]", "}", ";", '{"method":"x"}').map((text): ByteChange => {
    return (body) => Buffer.concat([body, Buffer.from(text)]);
  }),
  fc
    .tuple(fc.nat(600), fc.constantFrom(0x00, 0x0a, 0x22, 0x5c, 0x7d, 0x80, 0xc0, 0xed, 0xf5, 0xff))
    .map(([at, byte]): ByteChange => {
      return (body) => Buffer.concat([body.subarray(0, at), Buffer.of(byte), body.subarray(at)]);
    }),
  fc.nat(600).map(
    (at): ByteChange =>
      (body) =>
        body.subarray(0, at),
  ),
  fc.tuple(fc.nat(600), fc.nat(255)).map(([at, byte]): ByteChange => {
    return (body) => Buffer.from(body.map((own, there) => (there === at % body.length ? byte : own)));
  }),
  fc.constantFrom<BufferEncoding>("utf16le", "latin1").map((encoding): ByteChange => {
    return (body) => Buffer.from(body.toString("utf8"), encoding);
  }),
);

type HeaderChange = (lines: readonly string[]) => readonly string[];

const headerNames = ["Content-Type", "Accept", "Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Mcp-Session-Id"];

const headerValues = [
  ..."application/json|Application/JSON|application/json;charset=utf-8|application/json, text/html".split("|"),
  ..."text/plain|application/x-www-form-urlencoded|application/json;charset=utf-16|*/*|text/event-stream".split("|"),
  ..."application/json;q=0|tools/call|Tools/Call|tools/list|prompts/get|echo|forbidden|ECHO| echo |echo,forbidden".split(
    "|",
  ),
  ..."=?base64?ZWNobw==?=|=?base64?Zm9yYmlkZGVu?=|=?base64?ZWNobw?=|=?BASE64?ZWNobw==?=|%65cho|notes://public/1".split(
    "|",
  ),
  ..."2026-07-28|2025-11-25|2025-03-26|2099-01-01|2026-07-28, 2025-11-25||\u{0}|é".split("|"),
];

const headerChange: fc.Arbitrary<HeaderChange> = fc.oneof(
  fc.constantFrom(...headerNames).map(
    (name): HeaderChange =>
      (lines) =>
        lines.filter((line) => !isNamed(line, name)),
  ),
  fc.tuple(fc.constantFrom(...headerNames), fc.constantFrom(...headerValues)).map(([name, given]): HeaderChange => {
    return (lines) => [...lines.filter((line) => !isNamed(line, name)), `${name}: ${given}`];
  }),
  fc
    .tuple(fc.constantFrom(...headerNames), fc.constantFrom(...headerValues), front)
    .map(([name, given, atFront]): HeaderChange => {
      return (lines) => (atFront ? [`${name}: ${given}`, ...lines] : [...lines, `${name.toLowerCase()}: ${given}`]);
    }),
  fc.tuple(fc.constantFrom(...headerNames), fc.constantFrom(" ", "\t", "  ")).map(([name, space]): HeaderChange => {
    return (lines) => lines.map((line) => (isNamed(line, name) ? line.replace(": ", `:${space}`) + space : line));
  }),
  fc
    .constantFrom(
      "Connection: mcp-method, mcp-name",
      "Content-Encoding: gzip",
      "Content-Encoding: identity",
      "Content-Length: 5",
      "Transfer-Encoding: chunked",
      "Transfer-Encoding: identity",
      "X-HTTP-Method-Override: DELETE",
      "Mcp-Param-Q: no",
      "Mcp-Method : tools/list",
      " folded",
    )
    .map((line): HeaderChange => {
      return (lines) => [...lines, line];
    }),
);

function isNamed(line: string, name: string): boolean {
  return line.toLowerCase().startsWith(`${name.toLowerCase()}:`);
}
