import { keyMaterial } from "./key-material.ts";
import { loadConfig, type LoadedConfig, type RefusedConfig } from "../../src/config/load.ts";

/** Secrets that must never show anywhere; every test file and variable holds one of them. */
export const canary = "canary-2f8c1b-do-not-print-this-value-anywhere";

const variables: Readonly<Record<string, string>> = {
  ...keyMaterial,
  SECRET: canary,
  REDIS_URL: `redis://:${canary}@127.0.0.1:6379/0`,
  HTTP_URL: `http://${canary}/`,
  SHORT: "too short",
  EDGE_31: "x".repeat(31),
  EDGE_32: "x".repeat(32),
  TWO_LINES: `${canary}\r\nX-Other: 1`,
  EMPTY: "",
  PEM: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  PUBLIC_JWKS: JSON.stringify({ keys: [{ kty: "EC", crv: "P-256", x: canary, y: canary }] }),
  PRIVATE_JWKS: JSON.stringify({ keys: [{ kty: "EC", crv: "P-256", x: "x", y: "y", d: canary }] }),
  OCT_JWKS: JSON.stringify({ keys: [{ kty: "oct", k: canary }] }),
};

const files: Readonly<Record<string, string>> = {
  "/etc/sallyport/secrets/crm": `${canary}\n`,
  "/run/secrets/crm": canary,
  "/run/secrets/empty": "\n",
};

export function loadText(text: string): LoadedConfig | RefusedConfig {
  return loadConfig({
    text,
    path: "/etc/sallyport/sallyport.yaml",
    env: (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    readFile: (path) => {
      const text = Object.hasOwn(files, path) ? files[path] : undefined;
      if (text === undefined) throw Object.assign(new Error(`no such file, ${canary}`), { code: "ENOENT" });
      return text;
    },
  });
}

/** A configuration in which nothing is wrong, as a value to be changed by a test and written as JSON (which YAML is). */
export type Draft = Record<string, unknown>;

export function soundDraft(): Draft {
  return {
    publicUrl: "https://mcp.example.com",
    auth: { issuers: [{ alias: "corp", issuer: "https://login.example.com" }] },
    upstreams: { crm: { url: "https://crm.example.net/mcp" } },
    servers: { support: { upstreams: { crm: {} } } },
    policies: "./policies",
  };
}

/** The sound draft with the value at a dotted path replaced (`undefined` removes it). */
export function changed(...changes: readonly (readonly [path: string, value: unknown])[]): string {
  const draft = soundDraft();
  for (const [path, value] of changes) {
    const keys = path.split(".");
    let at: Draft = draft;
    for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Draft;
    at[keys.at(-1)!] = value;
  }
  return JSON.stringify(draft, null, 2);
}

/** `rule at path` of every fault, in order. */
export function faultsOf(text: string): string[] {
  const loaded = loadText(text);
  return loaded.ok ? [] : loaded.faults.map(({ rule, path }) => `${rule} at ${path}`);
}

export function warningsOf(text: string): string[] {
  const loaded = loadText(text);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.warnings.map(({ rule, path }) => `${rule} at ${path}`);
}
