import { setTimeout as wait } from "node:timers/promises";
import { verify } from "../../src/cli/verify.ts";
import { readOwn, readOwnString, type JsonObject } from "../../src/model/json.ts";
import { hiddenInstruction } from "./crm.ts";
import { hide } from "./hidden-text.ts";
import { call, calling, digestIn, quoteEvidence, refusalOf, timesReached, type Story } from "./story.ts";

export async function showHostileText(story: Story): Promise<void> {
  const { narrator, bob, quickstart } = story;
  narrator.heading("Hostile text is removed, and what it said is kept as evidence");
  const tool = (await bob.client.listTools()).find(({ name }) => name === "crm_get_customer");
  narrator.say("The crm describes get_customer with an instruction in characters that no screen shows.");
  narrator.say(`bob's client is shown: ${JSON.stringify(tool?.description)}`);
  narrator.holds("the description is clean", tool?.description, "Reads one customer.");
  const noticed = await quoteEvidence(story, refInLog(quickstart.logLines));
  narrator.holds("the evidence has what it said", readings(noticed), [hiddenInstruction]);

  narrator.say("The same text in a result:");
  const sought = { type: "returned", subject: "bob", exposedName: "crm_get_customer" };
  const { result, event, ref } = await calling(story, sought, () =>
    call(bob.client, "crm_get_customer", { id: "C-117" }),
  );
  narrator.say(`bob gets: ${result.text}`);
  narrator.holds("the result is clean", result.text.includes(hide("I")), false);
  narrator.holds("the evidence has what it said", readings(event), [hiddenInstruction]);
  await quoteEvidence(story, ref);
}

/** Nobody was refused anything, so the reference of what a reading of the lists noticed is in the gateway's log. */
function refInLog(lines: readonly string[]): string {
  const entries = lines.map((line) => JSON.parse(line) as { event?: string; upstream?: string; ref?: string });
  return entries.find(({ event, upstream }) => event === "catalog.noticed" && upstream === "crm")?.ref ?? "";
}

/** What the hidden text of an event's findings spelled. */
function readings(event: JsonObject): string[] {
  const findings = readOwn(event, "findings");
  if (!Array.isArray(findings)) return [];
  return findings.map((finding) => readOwnString(finding, "detail") ?? "");
}

export async function showBrokenResult(story: Story): Promise<void> {
  const { narrator, bob } = story;
  narrator.heading("A result that breaks the tool's own schema is withheld");
  narrator.say("bob calls tickets_list_queues, which declares three integers and sends a text");
  const before = timesReached(story, "list_queues");
  const result = await call(bob.client, "tickets_list_queues", {});
  narrator.say(`bob is told: ${result.text}`);
  const { code, ref } = refusalOf(result);
  narrator.holds("it is an error result that blames the tool", [result.isError, code], [true, "RESULT_INVALID"]);
  narrator.holds("nothing of the result is in it", result.text.includes("as many as you like"), false);
  narrator.holds("the upstream was called", timesReached(story, "list_queues"), before + 1);
  await quoteEvidence(story, ref);
}

export async function showChangedDefinition(story: Story): Promise<void> {
  const { narrator, quickstart } = story;
  narrator.heading("A tool that changes its definition leaves a trace");
  const before = await getTicket(story);
  quickstart.tickets.changeDefinition();
  narrator.say("The tickets upstream now describes get_ticket in other words.");
  const description = await changedDescription(story);
  const after = await getTicket(story);
  narrator.say(`bob's client is shown: ${JSON.stringify(description)}`);
  narrator.say(`digest of the definition, call before: ${digestIn(before.event)} (ref ${before.ref})`);
  narrator.say(`digest of the definition, call after:  ${digestIn(after.event)} (ref ${after.ref})`);
  narrator.holds(
    "every call names the definition it was made with",
    digestIn(before.event) === digestIn(after.event),
    false,
  );
  narrator.say("Nothing was approved here, so the new definition is served. The evidence says since when.");
  await quoteEvidence(story, after.ref);
}

async function getTicket(story: Story): Promise<{ event: JsonObject; ref: string }> {
  const sought = { type: "returned", subject: "bob", exposedName: "tickets_get_ticket" };
  return calling(story, sought, () => call(story.bob.client, "tickets_get_ticket", { id: "T-1002" }));
}

const pauseMs = 100;
const triesMax = 600;

/** Lists are read anew when they are older than `catalogAgeMsMax`, and the one being read is served until then. */
async function changedDescription({ bob }: Story): Promise<string> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const tool = (await bob.client.listTools()).find(({ name }) => name === "tickets_get_ticket");
    if (tool?.description !== "Reads one ticket.") return tool?.description ?? "";
    await wait(pauseMs);
  }
  throw new Error("the changed definition did not appear");
}

export async function showChain(story: Story): Promise<void> {
  const { narrator, quickstart } = story;
  narrator.heading("The evidence holds together, and no token went on");
  narrator.say("sallyport audit verify says:");
  const say = (line: string): void => {
    narrator.quote([line]);
  };
  const code = await verify(quickstart.evidencePath, { out: say, err: say });
  narrator.holds("every event is chained to the one before", code, 0);
  const forwarded = [...quickstart.tickets.received, ...quickstart.crm.received];
  narrator.say(`The upstreams got ${String(forwarded.length)} messages.`);
  const tokens = [story.alice, story.bob].map(({ person }) => person.tokens?.access_token ?? "");
  const carrying = forwarded.filter(
    ({ headers }) =>
      headers["authorization"] !== undefined || tokens.some((token) => JSON.stringify(headers).includes(token)),
  );
  narrator.holds("no token of alice or bob was in any of their headers", carrying.length, 0);
}
