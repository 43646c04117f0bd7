import { defaults } from "./defaults.ts";
import { authSchema } from "./schema-auth.ts";
import { integer, objectOf, secret, url } from "./schema-common.ts";
import { assertionKeys } from "./schema-credentials.ts";
import { limitsSchema } from "./schema-limits.ts";
import { catalogLockSchema } from "./schema-lock.ts";
import type { SchemaNode } from "./schema-node.ts";
import { namesSchema } from "./schema-presenting.ts";
import { serversSchema } from "./schema-servers.ts";
import { upstreamsSchema } from "./schema-upstreams.ts";

/** A file path, relative to the configuration file's folder unless absolute. */
const path: SchemaNode = { type: "string", pattern: "^[^\\u0000]{1,4096}$" };
const host: SchemaNode = { type: "string", pattern: "^[^\\s/@\\u0000-\\u001f]{1,255}$" };

const listenTls: SchemaNode = objectOf(
  {
    cert: {
      ...secret,
      description: "The certificate as PEM, by reference, and after it those between it and its authority.",
    },
    key: { ...secret, description: "Its private key as PEM, by reference." },
    clientCa: {
      ...secret,
      description:
        "The authorities of client certificates as PEM, by reference. With them, clients are asked for a certificate, and tokens that are bound to one (RFC 8705) are taken from whoever shows it; nobody has to show one. Absent: nobody is asked, and such tokens are refused.",
    },
  },
  {
    required: ["cert", "key"],
    description:
      "TLS of the gateway's own, from 1.2 on. Absent: it ends in front, where client certificates do too. Read once: new certificates take a restart.",
  },
);

function listen(
  which: "listen" | "operations",
  description: string,
  more: Readonly<Record<string, SchemaNode>> = {},
): SchemaNode {
  return objectOf(
    {
      host: {
        ...host,
        default: defaults[which].host,
        description: "The address to bind. This machine only, unless said otherwise.",
      },
      port: integer({
        minimum: 0,
        maximum: 65_535,
        default: defaults[which].port,
        description: "The port; 0 lets the system choose one.",
      }),
      ...more,
    },
    { description },
  );
}

const audit: SchemaNode = objectOf(
  {
    mode: {
      type: "string",
      enum: ["required", "best-effort"],
      default: defaults.auditMode,
      description: "Whether a request that cannot be recorded is refused. Required, since evidence with gaps is none.",
    },
    sinks: {
      type: "array",
      maxItems: 10,
      default: [{ file: { path: defaults.auditFile } }],
      description:
        "Where events go. Absent: a file beside the configuration, so that there is evidence from the start.",
      items: {
        ...objectOf({
          file: objectOf(
            { path: { ...path, description: "The file, one JSON event a line; appended to." } },
            { required: ["path"], description: "JSON Lines." },
          ),
          redis: objectOf(
            {
              stream: {
                type: "string",
                pattern: "^[\\x21-\\x7E]{1,256}$",
                default: defaults.auditStream,
                description: "The stream's name; its key begins with `sallyport:`.",
              },
            },
            { description: "A Redis stream in the configured store." },
          ),
        }),
        minProperties: 1,
        maxProperties: 1,
      },
    },
    digestKey: {
      ...secret,
      description:
        "Keys the digests of arguments and results; at least 32 bytes. Absent: a key of this process, so digests of two runs do not compare.",
    },
  },
  { description: "The evidence." },
);

const store: SchemaNode = {
  ...objectOf({
    memory: {
      const: true,
      description: "In this process: gone when it stops, and of use to one replica only.",
    },
    redis: objectOf(
      { url: { ...secret, description: "`redis://` or `rediss://`, by reference." } },
      { required: ["url"], description: "In Redis, for several replicas and across restarts." },
    ),
  }),
  minProperties: 1,
  maxProperties: 1,
  default: { memory: true },
  description:
    "Where sessions, grants and deny lists are kept. Absent: in memory, so that one command starts the gateway.",
};

const keys: SchemaNode = objectOf(
  {
    session: {
      ...secret,
      description:
        "Keys the MAC on session records, and what seals cursors, request states, task ids and messages between replicas; at least 32 bytes. Absent: a key of this process. Required with a Redis store.",
    },
    sessionPrevious: {
      type: "array",
      items: secret,
      maxItems: 5,
      default: [],
      description: "Earlier values of `session`, still accepted, so that a rotation ends no session.",
    },
    assertion: assertionKeys,
  },
  { description: "Keys of the gateway itself." },
);

/**
 * The configuration file, as JSON Schema 2020-12. `docs/sallyport.schema.json` is this value, and
 * `docs/configuration.md` is made from its descriptions. It says what one field may hold; what fields
 * must hold together stands in `rules.ts`.
 */
export const configSchema: SchemaNode = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Sallyport configuration",
  ...objectOf(
    {
      publicUrl: {
        ...url,
        description:
          "The origin under which clients reach the gateway; https, or http on this machine. Every published URL begins with it, and none is made from what a request says.",
        examples: ["https://mcp.example.com"],
      },
      filesUrl: {
        ...url,
        description:
          "The origin under which files of upstreams are fetched; https, or http on this machine, with a host of its own. Nothing else is served there, and files nowhere else. Absent: `publicUrl`, which is refused where the built-in authorization server has its pages.",
        examples: ["https://files.example.net"],
      },
      listen: listen("listen", "Where clients connect.", { tls: listenTls }),
      operations: listen("operations", "Where health, readiness and metrics are. They ask for no credential."),
      allowedHosts: {
        type: "array",
        items: { ...host, pattern: "^[A-Za-z0-9.:\\[\\]_-]{1,255}$" },
        uniqueItems: true,
        minItems: 1,
        maxItems: 100,
        description:
          "`Host` values answered, as `host` or `host:port`; others are refused, against DNS rebinding. Absent: the host of `publicUrl` and, when listening on this machine only, its loopback names.",
      },
      allowedOrigins: {
        type: "array",
        items: url,
        uniqueItems: true,
        maxItems: 100,
        description: "`Origin` values answered, for clients in browsers. Absent: the origin of `publicUrl`.",
      },
      auth: authSchema,
      upstreams: upstreamsSchema,
      servers: serversSchema,
      names: namesSchema(false),
      policies: {
        ...path,
        description:
          "The folder that holds policies, and folders of owners with more of them. Read again when they change and on SIGHUP. Absent: there are none, and nothing is allowed.",
      },
      lastGoodBundle: {
        ...path,
        description:
          "A file in which the gateway keeps, sealed with `keys.session`, the policies and the lock that were last put in force, to serve them when the files are broken at a start. Absent: a shared store keeps them, a store in memory nothing.",
      },
      shadow: objectOf(
        {
          policies: { ...path, description: "A folder of policies, as `policies`." },
          catalogLock: {
            ...path,
            description:
              "A catalog lock to try out with them, where `catalogLock` keeps one. Absent: the one in force.",
          },
        },
        {
          required: ["policies"],
          description:
            "Policies that are evaluated beside those in force, and decide nothing: how they would decide otherwise is counted and recorded. Absent: none.",
        },
      ),
      catalogLock: catalogLockSchema,
      content: objectOf(
        {
          results: {
            type: "string",
            enum: ["clean", "observe"],
            default: defaults.contentResults,
            description:
              "Whether hidden and deceptive characters are removed from results, or only noted. Removed, since no honest text needs them.",
          },
        },
        { description: "What is done to what upstreams say." },
      ),
      audit,
      store,
      keys,
      limits: limitsSchema,
      log: objectOf(
        {
          level: {
            type: "string",
            enum: ["fatal", "error", "warn", "info", "debug", "trace"],
            default: defaults.logLevel,
            description: "The least severe level written. No level writes tokens, bodies or secrets.",
          },
        },
        { description: "The operational log, on standard output." },
      ),
    },
    { required: ["publicUrl", "auth", "upstreams", "servers"] },
  ),
};
