import { createHash } from "node:crypto";
import type { RecordKey } from "../model/records.ts";

/** Where what the company's provider said of somebody rests. */
export function personKey(subject: string): RecordKey {
  return ["oauthPeople", "default", createHash("sha256").update(subject).digest("base64url")];
}
