import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPerson } from "../../deploy/quickstart/person.ts";
import { startQuickstart, type Quickstart } from "../../deploy/quickstart/start.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyCall, modernCall, openSession, refusalIn, type Caller } from "./wire-client.ts";

/** What a principal may do with an item: everything, only with more scopes, only with some arguments, or nothing. */
type Standing = "open" | "by arguments" | "step-up" | "hidden";

const principals = ["bob", "alice", "alice with crm:write"] as const;
type Who = (typeof principals)[number];

interface Item {
  /** The name or URI at the upstream, as its own account of calls has it. */
  readonly own: string;
  /** The name, URI or URI template in the list. */
  readonly listed: string;
  readonly list: "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list";
  /** Parameters of calls: every kind of arguments that a rule could tell apart. */
  readonly probes: readonly Loose[];
  readonly standing: Readonly<Record<Who, Standing>>;
}

const everybody = { bob: "open", alice: "open", "alice with crm:write": "open" } as const;
const leads = { ...everybody, bob: "hidden" } as const;
const nobody = { bob: "hidden", alice: "hidden", "alice with crm:write": "hidden" } as const;

function tool(upstream: string, own: string, args: readonly Loose[], standing: Item["standing"]): Item {
  const listed = `${upstream}_${own}`;
  return { own, listed, list: "tools/list", probes: args.map((one) => ({ name: listed, arguments: one })), standing };
}

function prompt(upstream: string, own: string, args: Loose, standing: Item["standing"]): Item {
  const listed = `${upstream}_${own}`;
  return { own, listed, list: "prompts/list", probes: [{ name: listed, arguments: args }], standing };
}

function template(listed: string, own: string, standing: Item["standing"]): Item {
  return { own, listed, list: "resources/templates/list", probes: [{ uri: own }], standing };
}

function resource(own: string, standing: Item["standing"]): Item {
  return { own, listed: own, list: "resources/list", probes: [{ uri: own }], standing };
}

const manyIds = Array.from({ length: 101 }, (_, at) => `C-${String(at + 100)}`);
const update = (field: string): Loose => ({ id: "C-999", fields: [field], values: ["x"] });

const items: readonly Item[] = [
  tool("tickets", "list_tickets", [{}, { status: "open" }], everybody),
  tool("tickets", "get_ticket", [{ id: "T-1001" }], everybody),
  tool("tickets", "list_queues", [{}], everybody),
  tool("tickets", "create_ticket", [{ subject: "abc", text: "d", customer: "C-204" }, {}], nobody),
  tool("crm", "get_customer", [{ id: "C-117" }], everybody),
  tool("crm", "find_customers", [{ name: "a" }], everybody),
  tool("crm", "export_customers", [{ ids: manyIds }, { ids: manyIds.slice(1) }, {}], {
    bob: "by arguments",
    alice: "by arguments",
    "alice with crm:write": "by arguments",
  }),
  tool("crm", "update_customer", [update("phone"), update("email")], {
    bob: "hidden",
    alice: "step-up",
    "alice with crm:write": "by arguments",
  }),
  tool("crm", "delete_customer", [{ id: "C-999" }, { id: "wrong" }, {}], leads),
  prompt("tickets", "draft_reply", { id: "T-1001" }, everybody),
  prompt("crm", "win_back_letter", { id: "C-117" }, nobody),
  resource("tickets://handbook/escalation", everybody),
  resource("crm://regions", everybody),
  template("tickets://ticket/{id}", "tickets://ticket/T-1001", everybody),
  template("crm://customers/{id}/notes", "crm://customers/C-117/notes", leads),
];

const callMethods: Readonly<Record<Item["list"], string>> = {
  "tools/list": "tools/call",
  "prompts/list": "prompts/get",
  "resources/list": "resources/read",
  "resources/templates/list": "resources/read",
};

const eras = ["legacy", "modern"] as const;
type Era = (typeof eras)[number];

let quickstart: Quickstart;
const callers = new Map<Who, Caller>();

beforeAll(async () => {
  quickstart = await startQuickstart();
  for (const who of principals) callers.set(who, await callerFor(who));
});

afterAll(() => quickstart.stop());

async function callerFor(who: Who): Promise<Caller> {
  const username = who === "bob" ? "bob" : "alice";
  const scope = who === "alice with crm:write" ? "mcp:use crm:write" : "mcp:use";
  const person = createPerson({ username, password: quickstart.passwords[username] });
  const provider = person.provider as OAuthClientProvider;
  const { serverUrl } = quickstart;
  await auth(provider, { serverUrl, scope });
  const authorizationCode = (await person.signIn()).get("code") ?? "";
  await auth(provider, { serverUrl, scope, authorizationCode });
  const gateway = { port: Number(new URL(serverUrl).port) };
  return openSession({ gateway, server: "support", token: person.tokens?.access_token });
}

function ask(who: Who, era: Era, method: string, params: Loose): Promise<Received> {
  const caller = callers.get(who);
  if (caller === undefined) throw new Error(`${who} is not signed in`);
  return era === "legacy" ? legacyCall(caller, method, params) : modernCall(caller, method, params);
}

async function isListed(who: Who, era: Era, { list, listed }: Item): Promise<boolean> {
  const { json } = await ask(who, era, list, {});
  const shown = Object.values(json["result"] as Loose).find(Array.isArray) as readonly Loose[];
  return shown.some((entry) => [entry["uri"], entry["uriTemplate"] ?? entry["name"]].includes(listed));
}

/** How often an item was used at its upstream, by the upstream's own account. */
function timesReached({ own, list }: Item): number {
  const received = [...quickstart.tickets.received, ...quickstart.crm.received];
  return received.filter(({ method, name }) => method === callMethods[list] && name === own).length;
}

type Verdict = "carried out" | "step-up" | "policy refused" | "arguments refused" | "unknown item" | "other";

function verdictOf(answer: Received): Verdict {
  const { code } = refusalIn(answer);
  if (answer.status === 403 && code === "SCOPE_INSUFFICIENT") return "step-up";
  if (answer.status !== 200) return "other";
  if (code === "") return answer.json["result"] === undefined ? "other" : "carried out";
  if (code === "ITEM_UNKNOWN") return "unknown item";
  const isError = (answer.json["result"] as Loose | undefined)?.["isError"] === true;
  if (code === "ARGUMENTS_INVALID" && isError) return "arguments refused";
  return code === "POLICY_DENIED" && isError ? "policy refused" : "other";
}

/** What is left of an answer once the name, the reference and the two headers that follow from them are out. */
function withoutName(answer: Received, name: string): Loose {
  const headers = Object.entries(answer.headers).filter(([header]) => header !== "date" && header !== "content-length");
  const text = answer.text.replaceAll(name, "NAME").replace(/"ref":"[0-9A-Z]{10}"/, '"ref":"REF"');
  return { status: answer.status, headers: Object.fromEntries(headers), text };
}

const expected: Readonly<Record<Standing, (verdicts: readonly Verdict[]) => void>> = {
  open: (verdicts) => {
    expect(new Set(verdicts)).toContain("carried out");
    for (const verdict of verdicts) expect(["carried out", "arguments refused"]).toContain(verdict);
  },
  "by arguments": (verdicts) => {
    expect(new Set(verdicts)).toEqual(new Set(["carried out", "policy refused"]));
  },
  "step-up": (verdicts) => {
    expect(new Set(verdicts)).toEqual(new Set(["step-up", "policy refused"]));
  },
  hidden: (verdicts) => {
    expect(new Set(verdicts)).toEqual(new Set(["unknown item"]));
  },
};

const cases = eras.flatMap((era) =>
  principals.flatMap((who) =>
    items.map((item) => ({ era, who, item, name: item.listed, standing: item.standing[who] })),
  ),
);

describe("what is listed and what can be called are one decision", () => {
  it.each(cases)("$era: $name is $standing to $who", async ({ era, who, item, standing }) => {
    const method = callMethods[item.list];
    const before = timesReached(item);
    const answers = await Promise.all(item.probes.map((probe) => ask(who, era, method, probe)));
    const verdicts = answers.map(verdictOf);
    const listed = await isListed(who, era, item);
    expected[standing](verdicts);
    if (verdicts.includes("carried out") || verdicts.includes("step-up")) expect(listed).toBe(true);
    expect(listed).toBe(standing !== "hidden");
    expect(timesReached(item) - before).toBe(standing === "hidden" ? 0 : carriedOutOrSent(answers));
  });

  const hidden = cases.filter(({ standing }) => standing === "hidden");
  it.each(hidden)("$era: $name answers $who with the bytes of an unknown item", async ({ era, who, item }) => {
    const method = callMethods[item.list];
    const byUri = method === "resources/read";
    for (const probe of item.probes) {
      const asked = String(probe[byUri ? "uri" : "name"]);
      const missing = `${asked}-not`;
      const unknown = await ask(who, era, method, { ...probe, [byUri ? "uri" : "name"]: missing });
      const answer = await ask(who, era, method, probe);
      expect(withoutName(answer, asked)).toEqual(withoutName(unknown, missing));
      expect(refusalIn(unknown).code).toBe("ITEM_UNKNOWN");
    }
  });
});

function carriedOutOrSent(answers: readonly Received[]): number {
  return answers.filter((answer) => verdictOf(answer) === "carried out").length;
}

describe("a missing scope", () => {
  it.each(eras)("%s: is answered with 403 and every scope of the operation", async (era) => {
    const answer = await ask("alice", era, "tools/call", { name: "crm_update_customer", arguments: update("phone") });
    expect(answer.status).toBe(403);
    const challenge = String(answer.headers["www-authenticate"]);
    expect(challenge).toContain('error="insufficient_scope"');
    expect(/\bscope="([^"]*)"/.exec(challenge)?.[1]?.split(" ").sort()).toEqual(["crm:write", "mcp:use"]);
  });
});

describe("the caller's token", () => {
  it("reaches no upstream", () => {
    const received = [...quickstart.tickets.received, ...quickstart.crm.received];
    const tokens = [...callers.values()].map(({ token }) => token ?? "");
    expect(tokens.every((token) => token.length > 100)).toBe(true);
    expect(received.length).toBeGreaterThan(0);
    for (const { headers } of received) {
      expect(headers).not.toHaveProperty("authorization");
      for (const token of tokens) expect(JSON.stringify(headers)).not.toContain(token);
    }
  });
});
