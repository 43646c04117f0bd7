import { describe, expect, it } from "vitest";
import { accepts, mediaTypeOf } from "../../src/protocol/media-type.ts";

describe("mediaTypeOf", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["application/json", "application/json"],
    ["Application/JSON", "application/json"],
    [" application/json ; charset=utf-8", "application/json"],
    ["text/event-stream;charset=UTF-8", "text/event-stream"],
    ["application/vnd.api+json", "application/vnd.api+json"],
    ["application", undefined],
    ["application/", undefined],
    ["/json", undefined],
    ["application/json, text/html", undefined],
    ["application/json text/html", undefined],
    ["application /json", undefined],
    ["text/html\u{0}", undefined],
    ["tëxt/html", undefined],
  ])("%j is %j", (header, essence) => {
    expect(mediaTypeOf(header)).toBe(essence);
  });
});

describe("accepts", () => {
  it.each([
    [undefined, true],
    ["", true],
    ["*/*", true],
    ["application/*", true],
    ["application/json", true],
    ["APPLICATION/JSON", true],
    ["text/event-stream, application/json", true],
    ["application/json;charset=utf-8", true],
    ["text/html, */*;q=0.1", true],
    ["text/event-stream", false],
    ["text/*", false],
    ["application/json;q=0", false],
    ["application/json; Q=0.000, */*", false],
    ["application/*;q=0, */*", false],
    ["*/*;q=0", false],
    ["*/*;q=0, application/json", true],
    ["application/json;q=0, application/json;q=0.5", true],
    ["application/json;q=1.000", true],
    ["application/json;q=0.001", true],
    ["application/json;q=2", false],
    ["application/json;q=x", false],
    ["application/json;q=", false],
    ['text/html;a="x,application/json"', false],
    ['text/html;a="\\",application/json', false],
    ['text/html;a="\\"", application/json', true],
    ['application/json;a=";q=0"', true],
    ["application/jsonx", false],
    [",, application/json ,", true],
    ["json", false],
  ])("%j admits application/json: %s", (accept, admitted) => {
    expect(accepts(accept, "application/json")).toBe(admitted);
  });
});
