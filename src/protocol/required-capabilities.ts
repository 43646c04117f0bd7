import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

/** Capabilities that one error names, and levels of each: `extensions` has the deepest there are. */
const pointersMax = 20;
const depthMax = 3;
const keyForm = /^[A-Za-z0-9._/-]{1,128}$/;

/**
 * What a −32021 says is required of the client (2026-07-28, basic, "Error Codes"), as JSON pointers: an upstream's
 * object reaches nobody, only the names in it do. Names with other characters than identifiers have are left out.
 */
export function requiredCapabilities(data: Json | undefined): readonly string[] {
  const found: string[] = [];
  collect(readOwn(data, "requiredCapabilities"), "", found);
  return found;
}

function collect(value: Json | undefined, at: string, found: string[]): void {
  const depth = at.split("/").length - 1;
  const keys = isJsonObject(value) && depth < depthMax ? Object.keys(value).filter((key) => keyForm.test(key)) : [];
  for (const key of keys) collect(readOwn(value, key), `${at}/${escaped(key)}`, found);
  if (keys.length === 0 && at !== "" && found.length < pointersMax) found.push(at);
}

/** The object that such pointers name, an empty object at each end. */
export function capabilitiesAt(pointers: readonly string[]): JsonObject {
  const whole: JsonObject = {};
  for (const pointer of pointers) {
    let here = whole;
    for (const key of pointer.split("/").slice(1).map(unescaped)) {
      const next = readOwn(here, key);
      const child = isJsonObject(next) ? next : {};
      here[key] = child;
      here = child;
    }
  }
  return whole;
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescaped(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}
