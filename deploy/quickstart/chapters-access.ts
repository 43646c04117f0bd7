import { createClient, isUnauthorized, type SdkClient, type Kind } from "./clients.ts";
import type { Narrator } from "./narrate.ts";
import type { Person } from "./person.ts";
import { call, calling, quoteEvidence, refusalOf, timesReached, type Signed, type Story } from "./story.ts";

/** Connects a client that knows the server's URL alone, and tells how discovery leads it to a token. */
export async function signIn(narrator: Narrator, of: { kind: Kind; url: string; person: Person }): Promise<Signed> {
  const { person } = of;
  const first = createClient(of);
  const refused = await attempt(() => first.connect());
  narrator.holds("without a token the client is sent to sign in", isUnauthorized(refused), true);
  const answer = await person.signIn();
  await first.finishAuth(answer);
  const client = createClient(of);
  await client.connect();
  for (const { method, path, status } of [...first.exchanges, ...client.exchanges])
    narrator.say(`${method.padEnd(4)} ${path} -> ${String(status)}`);
  narrator.say(`${person.username} now holds a token with the scopes: ${scopesOf(person)}`);
  narrator.holds(`${person.username}'s token has the minimal scope`, scopesOf(person), "mcp:use");
  return { person, client };
}

function scopesOf({ tokens }: Person): string {
  return tokens?.scope ?? "";
}

async function attempt(act: () => Promise<unknown>): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return error;
  }
}

const supportTools = [
  "tickets_list_tickets",
  "tickets_get_ticket",
  "tickets_list_queues",
  "crm_get_customer",
  "crm_find_customers",
  "crm_export_customers",
];
const leadTools = [...supportTools, "crm_update_customer", "crm_delete_customer"];

export async function showCatalogs({ narrator, alice, bob }: Story): Promise<void> {
  narrator.heading("What each of them sees");
  const aliceSees = await seen(alice.client);
  const bobSees = await seen(bob.client);
  narrator.say(`alice (support-lead): ${Object.values(aliceSees).flat().join(", ")}`);
  narrator.say(`bob (support):        ${Object.values(bobSees).flat().join(", ")}`);
  narrator.holds("alice sees eight tools", aliceSees.tools.toSorted(), leadTools.toSorted());
  narrator.holds("bob sees six of them", bobSees.tools.toSorted(), supportTools.toSorted());
  narrator.holds(
    "nobody sees tickets_create_ticket, which no rule allows",
    aliceSees.tools.includes("tickets_create_ticket"),
    false,
  );
  narrator.holds("alice reads notes on customers by their address", aliceSees.templates, [
    "tickets://ticket/{id}",
    "crm://customers/{id}/notes",
  ]);
  narrator.holds("bob does not", bobSees.templates, ["tickets://ticket/{id}"]);
}

async function seen(
  client: SdkClient,
): Promise<Record<"tools" | "prompts" | "resources" | "templates", readonly string[]>> {
  return {
    tools: (await client.listTools()).map(({ name }) => name),
    prompts: (await client.listPrompts()).map(({ name }) => name),
    resources: (await client.listResources()).map(({ uri }) => String(uri)),
    templates: (await client.listTemplates()).map(({ uriTemplate }) => String(uriTemplate)),
  };
}

export async function showCall(story: Story): Promise<void> {
  const { narrator, alice } = story;
  narrator.heading("A call that works");
  narrator.say('alice calls tickets_get_ticket { "id": "T-1001" }');
  const sought = { type: "returned", subject: "alice", exposedName: "tickets_get_ticket" };
  const { result, ref } = await calling(story, sought, () =>
    call(alice.client, "tickets_get_ticket", { id: "T-1001" }),
  );
  narrator.say(`and gets: ${String(result.structured?.["subject"])}`);
  narrator.holds("the result is the ticket", result.structured?.["id"], "T-1001");
  narrator.holds("a number beyond 2^53 keeps its digits", result.text.includes("18014398509481988"), true);
  await quoteEvidence(story, ref);
}

export async function showArgumentsRefused(story: Story): Promise<void> {
  const { narrator, bob } = story;
  narrator.heading("A call whose arguments are refused");
  narrator.say('bob calls tickets_get_ticket { "id": "1001" }');
  const before = timesReached(story, "get_ticket");
  const result = await call(bob.client, "tickets_get_ticket", { id: "1001" });
  narrator.say(`and is told: ${result.text}`);
  const { code, ref } = refusalOf(result);
  narrator.holds("it is an error result that a model can act on", [result.isError, code], [true, "ARGUMENTS_INVALID"]);
  narrator.holds("the upstream saw nothing", timesReached(story, "get_ticket"), before);
  await quoteEvidence(story, ref);
}

export async function showPolicyRefuses(story: Story): Promise<void> {
  const { narrator, bob } = story;
  narrator.heading("A call that policy refuses");
  const ids = Array.from({ length: 101 }, (_, at) => `C-${String(at + 100)}`);
  narrator.say("bob calls crm_export_customers with 101 ids");
  const before = timesReached(story, "export_customers");
  const result = await call(bob.client, "crm_export_customers", { ids });
  narrator.say(`and is told: ${result.text}`);
  const { code, ref } = refusalOf(result);
  narrator.holds("policy denies it", [result.isError, code], [true, "POLICY_DENIED"]);
  narrator.holds("with the rule's own message", result.text.includes("Ask for at most 100 ids."), true);
  narrator.holds("the upstream saw nothing", timesReached(story, "export_customers"), before);
  await quoteEvidence(story, ref);
  const allowed = await call(bob.client, "crm_export_customers", { ids: ids.slice(0, 100) });
  narrator.holds(
    "the same with 100 ids is carried out",
    [allowed.isError, timesReached(story, "export_customers")],
    [false, before + 1],
  );
}

export async function showStepUp(story: Story): Promise<void> {
  const { narrator, alice } = story;
  narrator.heading("A step-up");
  const args = { id: "C-331", fields: ["address"], values: ["3 quai de la Ligne, 84000 Avignon"] };
  narrator.say(`alice calls crm_update_customer ${JSON.stringify(args)} with the scopes: ${scopesOf(alice.person)}`);
  const before = timesReached(story, "update_customer");
  const refused = await attempt(() => call(alice.client, "crm_update_customer", args));
  const exchanged = alice.client.exchanges.findLast(({ status }) => status === 403);
  narrator.say(`403 ${exchanged?.challenge ?? ""}`);
  narrator.holds("the challenge names every scope needed", scopesIn(exchanged?.challenge), ["crm:write", "mcp:use"]);
  narrator.holds("the upstream saw nothing", timesReached(story, "update_customer"), before);
  await quoteEvidence(story, refOf(exchanged?.refusal));
  narrator.holds("the client sends alice to allow them", isUnauthorized(refused), true);
  await alice.client.finishAuth(await alice.person.signIn());
  narrator.holds("her token has them now", scopesOf(alice.person).split(" ").toSorted(), ["crm:write", "mcp:use"]);
  const sought = { type: "returned", subject: "alice", exposedName: "crm_update_customer" };
  const { result, ref } = await calling(story, sought, () => call(alice.client, "crm_update_customer", args));
  narrator.say(`The same call: ${result.text}`);
  narrator.holds("it works", [result.isError, timesReached(story, "update_customer")], [false, before + 1]);
  await quoteEvidence(story, ref);
  const other = await call(alice.client, "crm_update_customer", {
    id: "C-331",
    fields: ["email"],
    values: ["x@example.net"],
  });
  narrator.holds("another field stays refused", refusalOf(other).code, "POLICY_DENIED");
}

function scopesIn(challenge: string | undefined): readonly string[] {
  return (
    /\bscope="([^"]*)"/
      .exec(challenge ?? "")?.[1]
      ?.split(" ")
      .toSorted() ?? []
  );
}

function refOf(body: string | undefined): string {
  const message = JSON.parse(body ?? "{}") as { error?: { data?: { ref?: string } } };
  return message.error?.data?.ref ?? "";
}

export async function showHidden(story: Story): Promise<void> {
  const { narrator, bob } = story;
  narrator.heading("A hidden tool is answered like one that does not exist");
  const before = timesReached(story, "delete_customer");
  const hidden = await unknownItem(bob.client, "crm_delete_customer");
  const unknown = await unknownItem(bob.client, "crm_no_such_tool");
  narrator.say(`crm_delete_customer: ${hidden.message}`);
  narrator.say(`crm_no_such_tool:    ${unknown.message}`);
  const renamed = hidden.message.replaceAll("crm_delete_customer", "crm_no_such_tool");
  narrator.holds("both answers are the same but for the name", [renamed, hidden.code], [unknown.message, unknown.code]);
  narrator.holds("the upstream saw nothing", timesReached(story, "delete_customer"), before);
  await quoteEvidence(story, hidden.ref);
  await quoteEvidence(story, unknown.ref);
}

async function unknownItem(client: SdkClient, name: string): Promise<{ message: string; code: number; ref: string }> {
  const error = await attempt(() => call(client, name, { id: "C-117" }));
  const { message, code, data } = error as { message: string; code: number; data?: { ref?: string } };
  return { message, code, ref: data?.ref ?? "" };
}
