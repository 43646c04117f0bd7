import type { Account, Sent, Settings } from "./client-auth-account.ts";

/** The URL that the suite expects of a client with a metadata document. */
const documentUrl = "https://conformance-test.local/client-metadata.json";

type Scene = (account: Account) => Promise<void>;

interface Drive {
  readonly settings?: (context: Account["context"]) => Settings;
  readonly scene: Scene;
}

/** Does what a scenario waits for. Throws where it does not come to the end that it should. */
export async function driveSignIn(scenario: string, open: (settings: Settings) => Account): Promise<void> {
  const drive = drives[scenario];
  if (drive === undefined) throw new Error(`Nobody knows how to drive ${scenario}`);
  const { context } = open({});
  await drive.scene(open(drive.settings?.(context) ?? {}));
}

/** The scenarios that are driven here. */
export function isAboutSignIn(scenario: string): boolean {
  return scenario.startsWith("auth/");
}

const connects: Drive = { scene: listAndCall };
const refusedFor = (code: string, why: string): Drive => ({ scene: (account) => isRefused(account, code, why) });
const answeredWrongly = refusedFor("UPSTREAM_CONNECTION_REFUSED", "issuer-mismatch");

const drives: Readonly<Record<string, Drive>> = {
  "auth/metadata-default": connects,
  "auth/metadata-var1": connects,
  "auth/metadata-var2": connects,
  "auth/metadata-var3": connects,
  "auth/basic-cimd": { settings: () => ({ clientDocumentUrl: documentUrl }), scene: listAndCall },
  "auth/scope-from-www-authenticate": connects,
  "auth/scope-from-scopes-supported": connects,
  "auth/scope-omitted-when-undefined": connects,
  "auth/scope-step-up": connects,
  "auth/scope-retry-limit": { scene: neverEnough },
  "auth/token-endpoint-auth-basic": connects,
  "auth/token-endpoint-auth-post": connects,
  "auth/token-endpoint-auth-none": connects,
  "auth/pre-registration": {
    settings: (context) => ({
      issuer: String(context["issuer"]),
      client: { id: String(context["client_id"]), secret: String(context["client_secret"]) },
    }),
    scene: listAndCall,
  },
  "auth/resource-mismatch": refusedFor("UPSTREAM_AUTHORIZATION_UNUSABLE", "resource-is-another"),
  "auth/offline-access-scope": connects,
  "auth/offline-access-not-supported": connects,
  "auth/authorization-server-migration": { scene: moveToTheNewServer },
  "auth/iss-supported": connects,
  "auth/iss-not-advertised": connects,
  "auth/iss-supported-missing": answeredWrongly,
  "auth/iss-wrong-issuer": answeredWrongly,
  "auth/iss-unexpected": answeredWrongly,
  "auth/iss-normalized": answeredWrongly,
  "auth/metadata-issuer-mismatch": refusedFor("UPSTREAM_AUTHORIZATION_UNUSABLE", "server-metadata"),
};

async function listAndCall(account: Account): Promise<void> {
  expectStatus(await account.send("tools/list"), 200);
  expectStatus(await account.send("tools/call", { name: "test-tool", arguments: {} }), 200);
}

async function isRefused(account: Account, code: string, why: string): Promise<void> {
  const sent = await account.send("tools/list");
  const found =
    "refusal" in sent ? [sent.refusal.code, sent.refusal.facts["reason"] ?? sent.refusal.facts["fault"]] : sent;
  if (JSON.stringify(found) !== JSON.stringify([code, why]))
    throw new Error(`Not refused so: ${JSON.stringify(found)}`);
}

/** However often the person connects again, the server wants more; it is not sent the same request for ever. */
async function neverEnough(account: Account): Promise<void> {
  expectStatus(await account.send("tools/list"), 403);
}

/** The new server is used once the operator has named it, and not before. */
async function moveToTheNewServer(account: Account): Promise<void> {
  expectStatus(await account.send("tools/list"), 200);
  const moved = await account.send("tools/list");
  if (!("refusal" in moved) || moved.refusal.code !== "UPSTREAM_ISSUER_CHANGED") throw new Error("Not quarantined");
  const [found] = moved.refusal.facts["found"] as readonly string[];
  account.useIssuer(found ?? "");
  expectStatus(await account.send("tools/list"), 200);
}

function expectStatus(sent: Sent, status: number): void {
  if ("refusal" in sent) throw new Error(`Refused: ${JSON.stringify([sent.refusal.code, sent.refusal.facts])}`);
  if (sent.status !== status) throw new Error(`Answered ${sent.status}, expected ${status}`);
}
