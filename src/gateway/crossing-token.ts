import { readOwnString } from "../model/json.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { writeJson } from "../protocol/json/write.ts";

/** A command has made a headless token, or revoked one. Nothing here is the token itself. */
export interface TokenChange {
  readonly did: "created" | "revoked";
  readonly tenant: string;
  /** What the token is listed under. */
  readonly id: string;
  readonly service: string;
  /** Leads from what the command said to the evidence. */
  readonly ref: string;
}

/** As it crosses to the replicas. */
export function writeTokenChange({ did, tenant, id, service, ref }: TokenChange): string {
  return writeJson({ did, tenant, id, service, ref });
}

/** Undefined for what is no such text: a command of another version may have sent it. */
export function readTokenChange(text: string): TokenChange | undefined {
  const parsed = parseJsonText(text);
  const value = parsed.ok ? parsed.value : undefined;
  const did = readOwnString(value, "did");
  const [tenant, id, service, ref] = ["tenant", "id", "service", "ref"].map((name) => readOwnString(value, name));
  if (did !== "created" && did !== "revoked") return undefined;
  if (tenant === undefined || id === undefined || service === undefined || ref === undefined) return undefined;
  return { did, tenant, id, service, ref };
}
