import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { limits } from "../../model/limits.ts";

export interface ReadJsonLinesOptions {
  /** Reads only about this many bytes at the end of the file, from the first whole line on. */
  readonly tailBytes?: number;
  /** A longer line is cut: no event has one. Default: twice `limits.auditEventBytesMax`. */
  readonly lineCharsMax?: number;
}

/** The lines of a file that the JSON Lines sink wrote, oldest first, without empty ones. */
export async function* readJsonLines(path: string, options: ReadJsonLinesOptions = {}): AsyncGenerator<string> {
  const { tailBytes = Infinity, lineCharsMax = limits.auditEventBytesMax * 2 } = options;
  const start = Math.max(0, (await stat(path)).size - tailBytes);
  let skipping = start > 0;
  let rest = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8", start })) {
    const pieces = (rest + String(chunk)).split("\n");
    rest = (pieces.pop() ?? "").slice(0, lineCharsMax);
    for (const line of pieces) {
      if (line !== "" && !skipping) yield line.slice(0, lineCharsMax);
      skipping = false;
    }
  }
  if (rest !== "" && !skipping) yield rest;
}
