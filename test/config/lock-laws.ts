import type { Law } from "./built-in-laws.ts";

const hook = (more: object): object => ({ file: "./x.json", webhook: { url: "https://hooks.example.com/x", ...more } });

/** Of the catalog lock, and of what is kept with it for a bad day. */
export const lockLaws: readonly Law[] = [
  ...["observe", "enforce"].map((mode): Law => ({
    rule: "locksNeedAFile",
    at: "upstreams.crm.lock",
    broken: [["upstreams.crm.lock", mode]],
    held: [
      ["upstreams.crm.lock", mode],
      ["catalogLock", "./x.json"],
    ],
  })),
  {
    rule: "locksNeedAFile",
    at: "upstreams.crm.lock",
    broken: [["upstreams.crm.lock", "observe"]],
    held: [["upstreams.crm.lock", "off"]],
  },
  {
    rule: "lockedCatalogsAreLocked",
    at: "upstreams.crm.catalogFrom",
    broken: [["upstreams.crm.catalogFrom", "lock"]],
    held: [
      ["upstreams.crm.catalogFrom", "lock"],
      ["catalogLock", "./x.json"],
    ],
  },
  ...["observe", "off"].map((mode): Law => ({
    rule: "lockedCatalogsAreLocked",
    at: "upstreams.crm.catalogFrom",
    broken: [
      ["upstreams.crm.catalogFrom", "lock"],
      ["catalogLock", "./x.json"],
      ["upstreams.crm.lock", mode],
    ],
    held: [
      ["upstreams.crm.catalogFrom", "service"],
      ["catalogLock", "./x.json"],
      ["upstreams.crm.lock", mode],
    ],
  })),
  ...["http://hooks.example.com/x", "https://u:p@hooks.example.com/", "https://hooks.example.com/#a", "hooks"].map(
    (url): Law => ({
      rule: "lockWebhooksAreUsable",
      at: "catalogLock.webhook.url",
      broken: [["catalogLock", hook({ url })]],
      held: [["catalogLock", hook({})]],
    }),
  ),
  {
    rule: "lockWebhooksAreUsable",
    at: "catalogLock.webhook.url",
    broken: [["catalogLock", hook({ url: "http://127.0.0.1:9/x" })]],
    held: [["catalogLock", hook({ url: "http://127.0.0.1:9/x", addresses: "loopback" })]],
  },
  {
    rule: "lockWebhooksAreUsable",
    at: "catalogLock.webhook.url",
    broken: [["catalogLock", hook({ url: "http://hooks.example.com/x", addresses: "loopback" })]],
    held: [["catalogLock", hook({ url: "https://hooks.example.com/x", addresses: "loopback" })]],
  },
  {
    rule: "keysAreLongEnough",
    at: "catalogLock.webhook.secret",
    broken: [["catalogLock", hook({ secret: "${env:EDGE_31}" })]],
    held: [["catalogLock", hook({ secret: "${env:EDGE_32}" })]],
  },
  {
    rule: "lastGoodBundleNeedsKey",
    at: "keys.session",
    broken: [["lastGoodBundle", "./bundle"]],
    held: [
      ["lastGoodBundle", "./bundle"],
      ["keys", { session: "${env:SECRET}" }],
    ],
  },
];
