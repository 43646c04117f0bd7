import { limits } from "../model/limits.ts";
import { defaults } from "./defaults.ts";
import { addresses, integer, mapOf, name, objectOf, secret, url } from "./schema-common.ts";
import { credential } from "./schema-credentials.ts";
import { lockMode } from "./schema-lock.ts";
import { items } from "./schema-items.ts";
import type { SchemaNode } from "./schema-node.ts";

const tls: SchemaNode = objectOf(
  {
    ca: {
      ...secret,
      description:
        "PEM, by reference, of the authorities that may vouch for the upstream and for the authorization server of its credential, in place of those the system trusts.",
    },
    cert: { ...secret, description: "PEM, by reference, of the gateway's certificate, leaf first (mutual TLS)." },
    key: { ...secret, description: "PEM, by reference, of the private key of `cert`." },
  },
  {
    description:
      "TLS towards this upstream, where the system's authorities do not do. Certificates are always verified.",
  },
);

const forwardHeaders: SchemaNode = {
  type: "array",
  items: { type: "string", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$" },
  uniqueItems: true,
  maxItems: 20,
  default: [],
  description:
    "Headers of the client's request that go on to this upstream. All others stop here. Credentials, cookies, forwarding and hop-by-hop headers, and what the gateway writes itself, never go on. Not a place for authority: clients write what they like.",
  examples: [["x-request-id", "accept-language"]],
};

function timeout(key: keyof typeof defaults.timeouts, description: string): SchemaNode {
  return integer({ minimum: 10, maximum: 3_600_000, default: defaults.timeouts[key], description });
}

const pattern: SchemaNode = { type: "string", minLength: 1, maxLength: 1_024 };

function itemTimeout(description: string): SchemaNode {
  return { type: "integer", minimum: 10, maximum: 86_400_000, description };
}

const deadlines: SchemaNode = {
  type: "array",
  maxItems: 200,
  default: [],
  description:
    "Deadlines of single items, in place of those in `timeouts`: the first entry that names an item holds for it. What an entry leaves out stays as it is for the upstream.",
  items: objectOf({
    tool: { ...pattern, description: "Tools, by original name; `*` stands for any characters but `/`." },
    prompt: { ...pattern, description: "Prompts, by original name." },
    resource: {
      ...pattern,
      description: "Resources by URI and templates by pattern; `**` as the last segment stands for one or more.",
    },
    callMs: itemTimeout("Milliseconds for a call as a whole. Progress does not extend it."),
    firstByteMs: itemTimeout("Milliseconds to the first byte of the answer: for a tool that is silent while it works."),
    idleMs: itemTimeout("Milliseconds between two bytes of an answer. Progress and comments extend it."),
  }),
};

const breaker: SchemaNode = objectOf(
  {
    failures: integer({
      minimum: 0,
      maximum: 1_000,
      default: defaults.breaker.failures,
      description:
        "Failures in a row after which calls are refused at once. `0`: never. What calls come to, such as a tool's `isError`, is no failure.",
    }),
    windowMs: integer({
      minimum: 1_000,
      maximum: 3_600_000,
      default: defaults.breaker.windowMs,
      description: "Milliseconds within which they must fall. Two unlucky calls a day apart say nothing.",
    }),
    pauseMs: integer({
      minimum: 100,
      maximum: 60_000,
      default: defaults.breaker.pauseMs,
      description:
        "Milliseconds until one call is let through to find out, at first; after each further failure up to twice as long, at most a minute.",
    }),
  },
  { description: "Leaves an upstream alone that fails again and again. Other upstreams go on." },
);

function strictness(subject: string, why: string): SchemaNode {
  return {
    type: "string",
    enum: ["enforce", "warn", "off"],
    default: defaults.strictness,
    description: `What becomes of ${subject} that the schema refuses: refused, passed with a finding, or not checked. ${why}`,
  };
}

const files: SchemaNode = objectOf(
  {
    routes: {
      type: "array",
      items: { type: "string", pattern: "^(?:/[A-Za-z0-9._~!$&'()*+,=:@-]{1,255}){1,32}$" },
      uniqueItems: true,
      minItems: 1,
      maxItems: 100,
      description:
        "Paths at the upstream's origin, from the root. `*` stands for any characters but `/`, `**` as the last segment for one or more segments.",
      examples: [["/reports/*"]],
    },
    types: {
      type: "array",
      items: { type: "string", pattern: "^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$" },
      uniqueItems: true,
      minItems: 1,
      maxItems: 100,
      description: "Media types delivered, without parameters. A file of any other type is refused.",
      examples: [["application/pdf", "text/csv"]],
    },
    bytesMax: integer({
      minimum: 1,
      maximum: 10_737_418_240,
      default: limits.fileBytesMax,
      description: "Bytes of the largest file delivered. Enough for reports and images.",
    }),
  },
  {
    required: ["routes", "types"],
    description:
      "Files that results link to, fetched through the gateway under `{filesUrl}/files/{server}/{upstream}/`. Absent: none is.",
  },
);

const upstream: SchemaNode = objectOf(
  {
    url: { ...url, description: "The upstream's MCP endpoint. Plain http needs `addresses: private` or `loopback`." },
    era: {
      type: "string",
      enum: ["auto", "legacy", "modern"],
      default: defaults.era,
      description: "Which protocol era the upstream speaks. `auto` asks it, which costs one request per verdict.",
    },
    addresses,
    credential,
    catalogFrom: {
      type: "string",
      enum: ["service", "user", "lock"],
      default: defaults.catalogFrom,
      description:
        "On whose account lists are read. `service`: the gateway's own, once for everybody; policy then says who sees what. `user`: that of each person, for upstreams that list to each what they may use; it needs a credential that differs by caller. `lock`: nobody's; the definitions are those of the catalog lock, for upstreams that only users can list. With `credential.type: user` it is `user` unless it is `lock`, and with `user` whoever has not connected the upstream yet sees one tool in its place, `connect_` and its name.",
    },
    lock: lockMode,
    tls,
    forwardHeaders,
    timeouts: objectOf(
      {
        connectMs: timeout("connectMs", "Milliseconds to connect, TLS included."),
        firstByteMs: timeout("firstByteMs", "Milliseconds from the request to the first byte of its answer."),
        idleMs: timeout("idleMs", "Milliseconds between two bytes of an answer."),
        callMs: timeout("callMs", "Milliseconds for a call as a whole; after that its outcome is unknown."),
        probeMs: timeout("probeMs", "Milliseconds to find out the era and open a session."),
      },
      { description: "How long to wait for this upstream. The defaults suit a tool that works for minutes." },
    ),
    connectionsMax: integer({
      minimum: 1,
      maximum: 1_024,
      default: defaults.connectionsMax,
      description: "Connections for calls. Enough to keep one slow tool from holding up the rest.",
    }),
    queueMax: integer({
      minimum: 0,
      maximum: 100_000,
      default: defaults.queueMax,
      description: "Calls that wait for a connection; further ones are refused at once instead of piling up.",
    }),
    deadlines,
    breaker,
    schema: objectOf(
      {
        arguments: strictness("arguments", "Enforced, since an upstream that checks nothing relies on it."),
        results: strictness("structured results", "Enforced, since clients and models trust the declared shape."),
      },
      { description: "How strictly the upstream's own schemas are held." },
    ),
    disconnect: {
      type: "string",
      enum: ["cancel", "continue"],
      default: defaults.disconnect,
      description:
        "What becomes of a call whose legacy client loses its connection. `continue` as the specification says: the client did not cancel it. `cancel` for tools that are costly and may be stopped. Modern clients always cancel by closing.",
    },
    requestState: objectOf(
      {
        singleUse: {
          type: "boolean",
          default: defaults.stateSingleUse,
          description:
            "Whether a state that this upstream gives a client while it asks for input resumes one call only. It is bound to principal, item and arguments and to a quarter of an hour in any case; set this for an upstream where carrying out the same step twice does harm. A client that repeats a lost retry is then refused.",
        },
      },
      { description: "How the state is treated that a modern upstream gives a client to come back with." },
    ),
    files,
    items,
  },
  { required: ["url"] },
);

export const upstreamsSchema: SchemaNode = {
  ...mapOf(upstream, { description: "The MCP servers behind the gateway, by name.", keys: name }),
  minProperties: 1,
};
