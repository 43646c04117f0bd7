import { describe, expect, it } from "vitest";
import { discoverPlace } from "../../src/auth/issuer-metadata.ts";
import { createAssertionKeys } from "../../src/authserver/assertion-keys.ts";
import { limits } from "../../src/model/limits.ts";
import { discoverIssuer } from "../../src/upstream/credentials/discover-issuer.ts";

type Fetch = (url: string | URL) => Promise<Response>;

const issuer = "https://as.test/realms/x";
const place = "https://as.test/place";
const forms = [
  "https://as.test/.well-known/oauth-authorization-server/realms/x",
  "https://as.test/.well-known/openid-configuration/realms/x",
  "https://as.test/realms/x/.well-known/openid-configuration",
];

/** Who looks for metadata: each ends in having asked the place that it names. */
const seekers: readonly (readonly [who: string, seek: (fetch: Fetch) => Promise<unknown>])[] = [
  [
    "whoever verifies tokens",
    async (fetch) => {
      const options = { fetch, signal: AbortSignal.timeout(5_000), bytesMax: limits.issuerMetadataBytesMax };
      return fetch(await discoverPlace(issuer, "jwks_uri", options));
    },
  ],
  [
    "whoever needs an upstream's tokens",
    async (fetch) => fetch((await discoverIssuer(issuer, fetch)).token_endpoint ?? ""),
  ],
  [
    "whoever takes identity assertions",
    async (fetch) => {
      const about = {
        alias: "okta",
        algorithms: ["ES256"],
        subjectFrom: "sub",
        groupsClaim: undefined,
        groupsMax: 1,
      } as const;
      const keys = createAssertionKeys({ ...about, issuer, jwksUri: undefined, clients: undefined, fetch });
      return keys({ alg: "ES256", kid: "k" }, { payload: "", signature: "" });
    },
  ],
];

const document = (named = issuer): Response => Response.json({ issuer: named, jwks_uri: place, token_endpoint: place });
const page = (): Response => new Response("<p>Welcome", { headers: { "content-type": "text/html" } });
const nothing = (): Response => new Response("<p>Not found", { status: 404, headers: { "content-type": "text/html" } });

/** A web of these answers by URL, and what was asked of it. */
async function seekIn(
  answers: Readonly<Record<string, () => Response>>,
  seek: (fetch: Fetch) => Promise<unknown>,
): Promise<string[]> {
  const asked: string[] = [];
  // What the keys themselves are is not looked at here, and the one that is asked for is not among them.
  const fetch: Fetch = (url) => {
    asked.push(String(url));
    return Promise.resolve(String(url) === place ? Response.json({ keys: [] }) : (answers[String(url)] ?? nothing)());
  };
  await seek(fetch).catch(() => undefined);
  return asked;
}

describe.each(seekers)("the metadata of an issuer with a path, to %s", (_who, seek) => {
  it.each(forms)("is found at %s alone", async (form) => {
    const asked = await seekIn({ [form]: document }, seek);
    expect(asked.at(-1)).toBe(place);
    for (const url of asked.slice(0, -1)) expect(forms).toContain(url);
  });

  it.each(forms)("is found at %s behind pages that are answered with 200 elsewhere", async (form) => {
    const pages = Object.fromEntries(forms.map((url) => [url, page]));
    expect((await seekIn({ ...pages, [form]: () => document() }, seek)).at(-1)).toBe(place);
  });

  it("that is nowhere is looked for at three places, and nothing is guessed", async () => {
    expect((await seekIn({}, seek)).sort()).toEqual([...forms].sort());
  });

  it.each([`${issuer}/`, "https://as.test", "https://AS.test/realms/x", "https://evil.test/realms/x"])(
    "is not that of %s",
    async (other) => {
      const others = Object.fromEntries(forms.map((url) => [url, () => document(other)]));
      expect(await seekIn(others, seek)).not.toContain(place);
    },
  );
});
