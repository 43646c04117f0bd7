import { defaults } from "./defaults.ts";
import { addresses, integer, mapOf, name, objectOf, scopes, secret, url } from "./schema-common.ts";
import type { SchemaNode } from "./schema-node.ts";

const credential: SchemaNode = {
  type: "object",
  description:
    "What the gateway shows this upstream of itself. The caller's token is never sent. Absent: nothing (`type: none`).",
  discriminator: { propertyName: "type" },
  oneOf: [
    objectOf({ type: { const: "none", description: "No credential." } }, { required: ["type"] }),
    objectOf(
      {
        type: { const: "static", description: "The same headers on every request." },
        headers: {
          ...mapOf(secret, {
            description:
              "Header name to its value, by reference: the whole value, `Bearer` and the like included. Headers that the gateway itself writes are refused.",
            keys: { type: "string", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$" },
          }),
          minProperties: 1,
          maxProperties: 20,
        },
      },
      { required: ["type", "headers"] },
    ),
    objectOf(
      {
        type: {
          const: "clientCredentials",
          description: "A token from `issuer` (RFC 6749 §4.4), renewed as it expires.",
        },
        issuer: {
          ...url,
          description: "The authorization server's issuer identifier; its metadata names the endpoints.",
        },
        clientId: { type: "string", minLength: 1, maxLength: 512, description: "The gateway's `client_id` there." },
        clientSecret: { ...secret, description: "The gateway's secret there, by reference." },
        scopes: { ...scopes, default: [], description: "Scopes to ask for. None: the authorization server decides." },
        resource: { ...url, description: "The resource indicator to send (RFC 8707). Absent: none is sent." },
      },
      { required: ["type", "issuer", "clientId", "clientSecret"] },
    ),
  ],
};

function timeout(key: keyof typeof defaults.timeouts, description: string): SchemaNode {
  return integer({ minimum: 10, maximum: 3_600_000, default: defaults.timeouts[key], description });
}

function strictness(subject: string, why: string): SchemaNode {
  return {
    type: "string",
    enum: ["enforce", "warn", "off"],
    default: defaults.strictness,
    description: `What becomes of ${subject} that the schema refuses: refused, passed with a finding, or not checked. ${why}`,
  };
}

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
    schema: objectOf(
      {
        arguments: strictness("arguments", "Enforced, since an upstream that checks nothing relies on it."),
        results: strictness("structured results", "Enforced, since clients and models trust the declared shape."),
      },
      { description: "How strictly the upstream's own schemas are held." },
    ),
  },
  { required: ["url"] },
);

export const upstreamsSchema: SchemaNode = {
  ...mapOf(upstream, { description: "The MCP servers behind the gateway, by name.", keys: name }),
  minProperties: 1,
};
