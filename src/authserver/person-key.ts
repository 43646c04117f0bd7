import type { RecordKey } from "../model/records.ts";
import { digestOf } from "./digest.ts";

/** Where what the company's provider said of somebody rests. */
export function personKey(subject: string): RecordKey {
  return ["oauthPeople", "default", digestOf(subject)];
}
