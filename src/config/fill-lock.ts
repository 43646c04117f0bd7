import { defaults } from "./defaults.ts";
import type { RawConfig } from "./raw.ts";
import type { SecretReader } from "./secret-reader.ts";
import type { CatalogLockConfig, LockMode } from "./types.ts";

export function fillCatalogLock(
  raw: RawConfig["catalogLock"],
  absolute: (path: string) => string,
  secrets: SecretReader,
): CatalogLockConfig | undefined {
  if (raw === undefined) return undefined;
  if (typeof raw === "string") return { file: absolute(raw), webhook: undefined };
  const { file, webhook } = raw;
  if (webhook === undefined) return { file: absolute(file), webhook };
  const secret = secrets.readOptional(["catalogLock", "webhook", "secret"], webhook.secret);
  const { url, addresses = defaults.addresses } = webhook;
  return { file: absolute(file), webhook: { url, secret, addresses } };
}

/** Whoever keeps a lock means it: an upstream that nobody thought of is held to it too. */
export function lockModeOf(mode: LockMode | undefined, { catalogLock }: Pick<RawConfig, "catalogLock">): LockMode {
  return mode ?? (catalogLock === undefined ? "off" : "enforce");
}
