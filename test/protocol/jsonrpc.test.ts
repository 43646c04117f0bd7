import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import type { RpcId } from "../../src/model/rpc.ts";
import { parseJsonText } from "../../src/protocol/json/parse.ts";
import { writeJson } from "../../src/protocol/json/write.ts";
import {
  errorMessage,
  idOf,
  notificationMessage,
  readMessage,
  requestMessage,
  resultMessage,
  sameId,
} from "../../src/protocol/jsonrpc.ts";

function parsed(text: string): Json {
  const result = parseJsonText(text);
  if (!result.ok) throw new Error(result.refusal.code);
  return result.value;
}

function verdict(text: string): string {
  const result = readMessage(parsed(text));
  return result.ok ? result.value.kind : `${result.refusal.code} ${String(result.refusal.facts["reason"])}`;
}

describe("readMessage", () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "request"],
    ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', "request"],
    ['{"jsonrpc":"2.0","method":"notifications/initialized"}', "notification"],
    ['{"jsonrpc":"2.0","id":0,"result":{}}', "response"],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}', "response"],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x","data":null}}', "response"],
    ['{"jsonrpc":"2.0","error":{"code":1,"message":"x","more":true}}', "response"],
    ['{"method":"ping","id":1}', "RPC_MESSAGE_INVALID version"],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', "RPC_MESSAGE_INVALID version"],
    ['{"jsonrpc":2.0,"id":1,"method":"ping"}', "RPC_MESSAGE_INVALID version"],
    ['{"jsonrpc":"2.0","id":1}', "RPC_MESSAGE_INVALID neither-method-nor-answer"],
    ['{"jsonrpc":"2.0","id":1,"Method":"ping"}', "RPC_MESSAGE_INVALID neither-method-nor-answer"],
    ['{"jsonrpc":"2.0","id":1,"method":""}', "RPC_MESSAGE_INVALID method"],
    ['{"jsonrpc":"2.0","id":1,"method":7}', "RPC_MESSAGE_INVALID method"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', "RPC_MESSAGE_INVALID unknown-member"],
    ['{"jsonrpc":"2.0","id":1,"result":{},"meta":{}}', "RPC_MESSAGE_INVALID unknown-member"],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"},"params":{}}', "RPC_MESSAGE_INVALID unknown-member"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', "RPC_MESSAGE_INVALID method-and-answer"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}', "RPC_MESSAGE_INVALID method-and-answer"],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}', "RPC_MESSAGE_INVALID result-and-error"],
    ['{"jsonrpc":"2.0","id":1,"result":[]}', "RPC_MESSAGE_INVALID result"],
    ['{"jsonrpc":"2.0","id":1,"result":null}', "RPC_MESSAGE_INVALID result"],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', "RPC_MESSAGE_INVALID id"],
    ['{"jsonrpc":"2.0","result":{}}', "RPC_MESSAGE_INVALID id"],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":"x"}}', "RPC_MESSAGE_INVALID error"],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}', "RPC_MESSAGE_INVALID error"],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":5}}', "RPC_MESSAGE_INVALID error"],
    ['{"jsonrpc":"2.0","id":1,"error":"x"}', "RPC_MESSAGE_INVALID error"],
    ['{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":"x"}}', "RPC_MESSAGE_INVALID id"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', "RPC_PARAMS_INVALID not-an-object"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', "RPC_PARAMS_INVALID not-an-object"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":9007199254740993}', "RPC_PARAMS_INVALID not-an-object"],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "RPC_MESSAGE_INVALID not-an-object"],
    ['"ping"', "RPC_MESSAGE_INVALID not-an-object"],
    ["null", "RPC_MESSAGE_INVALID not-an-object"],
    ["9007199254740993", "RPC_MESSAGE_INVALID not-an-object"],
  ])("%s: %s", (text, expected) => {
    expect(verdict(text)).toBe(expected);
  });

  it.each([
    ["0", "0"],
    ["-1", "-1"],
    ["-0", "-0"],
    ['"1"', '"1"'],
    ['""', '""'],
    ['"\\u0000"', '"\\u0000"'],
    ["9007199254740991", "9007199254740991"],
    ["9007199254740993", "9007199254740993"],
    ["1.0", "1"],
    ["1e3", "1000"],
  ])("id %s is read and echoed as %s", (source, echoed) => {
    const message = readMessage(parsed(`{"jsonrpc":"2.0","id":${source},"method":"ping"}`));
    if (!message.ok || message.value.kind !== "request") throw new Error("no request");
    expect(writeJson(resultMessage(message.value.id, {}))).toBe(`{"jsonrpc":"2.0","id":${echoed},"result":{}}`);
  });

  it.each(["null", "true", "1.5", "1.00000000000000000001", "{}", "[]"])("id %s is refused", (source) => {
    expect(verdict(`{"jsonrpc":"2.0","id":${source},"method":"ping"}`)).toBe("RPC_MESSAGE_INVALID id");
  });

  it("hands over parameters, results, errors and their unknown keys as they are", () => {
    const params: JsonObject = { name: "x", _meta: { "com.example/k": 1 } };
    expect(readMessage(requestMessage(7, "tools/call", params))).toEqual({
      ok: true,
      value: { kind: "request", id: 7, method: "tools/call", params },
    });
    expect(readMessage(notificationMessage("notifications/cancelled", params))).toEqual({
      ok: true,
      value: { kind: "notification", method: "notifications/cancelled", params },
    });
    expect(readMessage(resultMessage("7", { extra: [1] }))).toEqual({
      ok: true,
      value: { kind: "response", id: "7", result: { extra: [1] } },
    });
    expect(readMessage(errorMessage(undefined, { code: -1, message: "m", data: { uri: "u" } }))).toEqual({
      ok: true,
      value: { kind: "response", id: undefined, error: { code: -1, message: "m", data: { uri: "u" } } },
    });
  });
});

describe("writers", () => {
  it("leave out what there is none of", () => {
    expect(requestMessage("a", "ping", undefined)).toEqual({ jsonrpc: "2.0", id: "a", method: "ping" });
    expect(notificationMessage("notifications/initialized", undefined)).toEqual({
      jsonrpc: "2.0",
      method: "notifications/initialized",
    });
    expect(Object.keys(errorMessage(undefined, { code: 1, message: "m" }))).toEqual(["jsonrpc", "error"]);
    expect(errorMessage(0, { code: 1, message: "m" })).toEqual({
      jsonrpc: "2.0",
      id: 0,
      error: { code: 1, message: "m" },
    });
  });
});

describe("idOf", () => {
  it.each<[string, RpcId | undefined]>([
    ['{"id":0,"method":1}', 0],
    ['{"id":"x"}', "x"],
    ['{"id":null}', undefined],
    ['{"id":1.5}', undefined],
    ['{"id":[1]}', undefined],
    ["{}", undefined],
    ['[{"id":1}]', undefined],
  ])("of %s is %j", (text, id) => {
    expect(idOf(parsed(text))).toBe(id);
  });
});

describe("sameId", () => {
  it.each<[RpcId | undefined, RpcId | undefined, boolean]>([
    [1, 1, true],
    ["1", "1", true],
    ["1", 1, false],
    [0, "", false],
    [1, 2, false],
    [undefined, undefined, false],
    [undefined, 0, false],
    [new ExactNumber("9007199254740993"), new ExactNumber("9007199254740993"), true],
    [new ExactNumber("9007199254740993"), new ExactNumber("9007199254740995"), false],
    [new ExactNumber("9007199254740993"), 9_007_199_254_740_992, false],
    [new ExactNumber("9007199254740993"), "9007199254740993", false],
  ])("%j and %j: %s", (left, right, same) => {
    expect(sameId(left, right)).toBe(same);
    expect(sameId(right, left)).toBe(same);
  });
});

describe("the length of an id", () => {
  it.each([
    [1_024, "request"],
    [1_025, "RPC_MESSAGE_INVALID id"],
  ])("of %i characters: %s, so that it can be kept and handed on", (length, outcome) => {
    expect(verdict(`{"jsonrpc":"2.0","id":"${"i".repeat(length)}","method":"ping"}`)).toBe(outcome);
  });
});
