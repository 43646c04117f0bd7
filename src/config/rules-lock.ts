import { printable, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { CatalogLockConfig, Config } from "./types.ts";

export function locksNeedAFile({ catalogLock, upstreams }: Config): PlacedFault[] {
  if (catalogLock !== undefined) return [];
  return Object.entries(upstreams)
    .filter(([, { lock }]) => lock !== "off")
    .map(([name, { lock }]) => ({
      place: ["upstreams", name, "lock"],
      found: lock,
      expected: "off, or a catalogLock that says what is approved",
      rule: "locksNeedAFile",
    }));
}

/** Definitions out of the lock are held to it by nature; `off` would say that nobody looks at it. */
export function lockedCatalogsAreLocked({ catalogLock, upstreams }: Config): PlacedFault[] {
  return Object.entries(upstreams)
    .filter(([, { catalogFrom, lock }]) => catalogFrom === "lock" && (catalogLock === undefined || lock !== "enforce"))
    .map(([name]) => ({
      place: ["upstreams", name, "catalogFrom"],
      found: "lock",
      expected: "service or user, or a catalogLock and lock: enforce",
      rule: "lockedCatalogsAreLocked",
    }));
}

/** The egress guard lets clear text reach this machine alone; a secret in the URL would stand in version control. */
export function lockWebhooksAreUsable({ catalogLock }: Config): PlacedFault[] {
  const webhook = catalogLock?.webhook;
  if (webhook === undefined || isWebhookUrl(webhook)) return [];
  const expected = "an https URL without fragment or credentials (http on loopback with addresses: loopback)";
  const place = ["catalogLock", "webhook", "url"];
  return [{ place, found: printable(webhook.url), expected, rule: "lockWebhooksAreUsable" }];
}

function isWebhookUrl({ url: text, addresses }: NonNullable<CatalogLockConfig["webhook"]>): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (text.includes("#") || url.username !== "" || url.password !== "") return false;
  return (
    url.protocol === "https:" || (url.protocol === "http:" && addresses === "loopback" && isLoopbackHost(url.hostname))
  );
}
