import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { Output } from "../../src/cli/output.ts";

export interface Captured extends Output {
  readonly stdout: string[];
  readonly stderr: string[];
}

export function captured(): Captured {
  const stdout: string[] = [];
  const stderr: string[] = [];
  return { stdout, stderr, out: (line) => void stdout.push(line), err: (line) => void stderr.push(line) };
}

/** A folder with these files, removed after the test. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-cli-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export const soundConfig = `publicUrl: https://mcp.example.com
auth:
  issuers: [{ alias: corp, issuer: https://login.example.com }]
upstreams:
  crm: { url: "https://crm.example.net/mcp?key=hidden", credential: { type: static, headers: { Authorization: "\${env:CRM}" } } }
servers:
  support: { scopes: { minimal: [mcp] }, upstreams: { crm: { prefix: crm_ } } }
policies: ./policies
audit: { sinks: [{ file: { path: audit.jsonl } }] }
`;

export const soundPolicy = `policy: support
rules:
  - { id: everything, effect: allow, who: { groups: { any: [corp:support] } }, what: { upstream: crm, tool: "get_*" } }
`;

export const env = (name: string): string | undefined => (name === "CRM" ? "Bearer hush-hush" : undefined);
