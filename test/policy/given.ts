import type { JsonObject } from "../../src/model/json.ts";
import type { Principal } from "../../src/model/principal.ts";
import { compilePolicies } from "../../src/policy/compile.ts";
import type { Policy, PolicyContext } from "../../src/policy/compile.ts";
import { shapingFields, useFields } from "../../src/policy/language.ts";
import type { PolicyFault } from "../../src/policy/language.ts";
import type { Question, SubjectKind } from "../../src/policy/question.ts";

export const context: PolicyContext = {
  issuerAliases: ["corp", "partner"],
  upstreams: ["crm", "tickets", "warehouse"],
  servers: ["support", "data"],
};

export function principal(more: Partial<Principal> = {}): Principal {
  return {
    tenant: "default",
    issuer: "https://login.example.com",
    issuerAlias: "corp",
    kind: "human",
    subject: "ada",
    clientId: "desktop",
    groups: ["corp:support"],
    scopes: [],
    claims: {},
    expiresAt: 4_000_000_000,
    key: "k",
    ...more,
  };
}

export interface Asked {
  readonly who?: Partial<Principal>;
  readonly server?: string;
  readonly upstream?: string;
  readonly kind?: SubjectKind;
  readonly name?: string;
  readonly args?: JsonObject | undefined;
  readonly now?: number;
}

export function question(asked: Asked = {}): Question {
  return {
    principal: principal(asked.who),
    server: asked.server ?? "support",
    item: { upstream: asked.upstream ?? "crm", kind: asked.kind ?? "tool", name: asked.name ?? "export_all" },
    args: "args" in asked ? asked.args : {},
    request: {
      now: asked.now ?? Date.parse("2026-03-04T10:00:00Z"),
      transport: "http",
      era: "modern",
      revision: "2026-07-28",
    },
  };
}

export function load(rules: readonly unknown[], more: Partial<PolicyContext> = {}): Policy {
  const compiled = compilePolicies([{ path: "p.yaml", value: { policy: "p", rules } }], { ...context, ...more });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.policy;
}

export function faultsOf(rules: unknown, more: Partial<PolicyContext> = {}): readonly PolicyFault[] {
  const compiled = compilePolicies([{ path: "p.yaml", value: { policy: "p", rules } }], { ...context, ...more });
  return compiled.ok ? [] : compiled.faults;
}

export function rule(id: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { id, effect: "allow", who: { anyone: true }, what: { anything: true }, ...more };
}

export function deny(id: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return rule(id, { effect: "deny", ...more });
}

/** With a deadline, where `more` obliges to nothing else. */
export function constrain(id: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const obliges = [...shapingFields, ...useFields].some((name) => name in more);
  return rule(id, { effect: "constrain", ...(obliges ? {} : { deadlineMs: 1_000 }), ...more });
}
