import { addresses, objectOf, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const pathPattern = "^[^\\u0000]{1,4096}$";

const webhook: SchemaNode = objectOf(
  {
    url: {
      ...url,
      description: "Where each drift is posted as JSON; https, or http on this machine with `addresses: loopback`.",
      examples: ["https://hooks.example.com/drift"],
    },
    secret: {
      ...secret,
      description:
        "Keys the HMAC-SHA-256 over the body, sent as `sallyport-signature: sha256=…`; at least 32 bytes. Absent: nobody can tell who posted.",
    },
    addresses,
  },
  {
    required: ["url"],
    description:
      "Who is told of definitions that are not the approved ones. Absent: evidence, log and metrics alone tell of them.",
  },
);

/** A path, or a map that has it as `file`: keywords of the one kind say nothing of the other. */
export const catalogLockSchema: SchemaNode = {
  type: ["string", "object"],
  pattern: pathPattern,
  properties: {
    file: { type: "string", pattern: pathPattern, description: "The path of the lock." },
    webhook,
  },
  additionalProperties: false,
  required: ["file"],
  description:
    "The catalog lock: a path, or a map of `file` and `webhook`. Definitions that it does not approve are withheld (`upstreams.<name>.lock`). `sallyport catalog update` writes it; keep it in version control. Absent: whatever upstreams list is shown.",
  examples: ["./catalog.lock.json"],
};

export const lockMode: SchemaNode = {
  type: "string",
  enum: ["off", "observe", "enforce"],
  description:
    "How definitions are held to the catalog lock. `enforce`: an item whose definition is not approved is withheld, it alone; so is every item of an upstream that the lock does not have. `observe`: it is served, and reported. `off`: nobody looks. Absent: `enforce` with a catalog lock, `off` without one.",
};
