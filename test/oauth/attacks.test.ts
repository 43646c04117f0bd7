import { describe, expect, it } from "vitest";
import { faultsOf, sourceOf } from "../field-cases/covering.ts";
import type { Cover } from "../field-cases/covering.ts";

/** What is tried against who signs people in, and the tests that see it refused. */
const attacks: readonly (readonly [attack: string, refusedBy: readonly Cover[]])[] = [
  [
    "confused deputy: a client uses the consent that somebody gave to another one",
    [
      ["authserver/pages.test.ts", "is shown again to each client and each time, though the browser is signed in"],
      [
        "authserver/pages.test.ts",
        "names client, user, server, scopes and where the browser goes, and warns of self-chosen names",
      ],
      ["upstream/grants/connect.test.ts", "is per client: a second client has no token before the person agrees"],
      ["upstream/grants/connect.test.ts", "cannot be given before there is a grant, nor by somebody else"],
      ["connect/pages.test.ts", "that is declined changes nothing"],
      [
        "journey/connections.test.ts",
        "is one tool before, and its tools afterwards, for that person and client alone; open streams are told",
      ],
    ],
  ],
  [
    "confused deputy: a token for one server is used at another, or goes on to an upstream",
    [
      ["auth/authenticate.test.ts", "a token remembered for one server is not taken at another"],
      ["oauth/providers/providers.test.ts", "has its tokens for one server refused at another"],
      ["authserver/tokens.test.ts", "a server nobody knows"],
      [
        "upstream/credentials/assertion.test.ts",
        "does not verify for another upstream, and neither does another type of token of the same keys",
      ],
      ["journey/outbound-credentials.test.ts", "reaches no request to the upstream %s"],
    ],
  ],
  [
    "open redirect: authorization answers",
    [
      ["authserver/redirect-variants.test.ts", "%s, gets a page of ours and no redirect"],
      ["authserver/redirect-variants.test.ts", "%s, cannot be registered either"],
      [
        "authserver/redirect-variants.test.ts",
        "a listed scheme, is taken once it is registered, and not with anything else after it",
      ],
      [
        "authserver/redirects.test.ts",
        "differs from a registered loopback URI in nothing but the port, whatever stands before the path",
      ],
      ["authserver/authorize.test.ts", "is a page of ours and no redirect: %s"],
      [
        "field-cases/registrations.test.ts",
        "two applications that register are two, and neither may send people to where the other is",
      ],
    ],
  ],
  [
    "open redirect: where pages lead on to",
    [
      ["connect/pages.test.ts", "never leads on to %s"],
      ["connect/pages.test.ts", "a link too long for the cookie is let go, and the person is signed in all the same"],
      ["upstream/grants/discovery.test.ts", "a script in place of the authorization endpoint"],
      ["authserver/provider-sign-in.test.ts", "shows on our page that the provider %s (%s)"],
    ],
  ],
  [
    "CSRF: a form that another site sends",
    [
      ["authserver/pages.test.ts", "is refused %s, and nothing is granted"],
      ["authserver/pages.test.ts", "is refused in another browser, where the page does not open either"],
      ["connect/pages.test.ts", "%s without the browser's token is refused as CONNECT_FORM_REFUSED"],
      ["connect/pages.test.ts", "%s with the token of another browser is refused"],
      ["connect/pages.test.ts", "%s from another origin is refused"],
    ],
  ],
  [
    "CSRF: an answer of a provider that another browser began",
    [
      ["authserver/provider-sign-in.test.ts", "finishes only in the browser that began it, and leaves it to that one"],
      ["authserver/provider-sign-in.test.ts", "refuses an answer with %s"],
      ["connect/pages.test.ts", "in another browser the callback is refused as CONNECT_ATTEMPT_LOST with 403"],
      ["connect/pages.test.ts", "one attempt cannot be finished with the state of another"],
      ["signin/relying-party.test.ts", "the state of another browser"],
      [
        "upstream/grants/connect.test.ts",
        "refuses another state, as of a forged answer, which does not use the attempt up",
      ],
      ["connect/company-sign-in.test.ts", "the callback of one browser is refused in another"],
    ],
  ],
  [
    "a session that an attacker planted",
    [
      ["connect/pages.test.ts", "the session's id changes at sign-in: an id that somebody planted signs nobody in"],
      [
        "connect/pages.test.ts",
        "that a person began before somebody else signed in over them is not finished by the other",
      ],
      ["authserver/discovery.test.ts", "makes cookies that belong to this origin alone"],
    ],
  ],
  [
    "a session of before an offboarding, once its person is let in again",
    [
      ["connect/put-out.test.ts", "is signed out in every browser of before, at whatever page, and for good"],
      ["connect/put-out.test.ts", "is not signed in by a sign-in that was under way when it ended"],
      ["connect/put-out.test.ts", "is ended again: %s"],
      [
        "journey/offboarding-sign-ins.test.ts",
        "whoever is let in again finds every sign-in of before ended, and nobody else does",
      ],
      ["journey/offboarding.test.ts", "has no session of before when let in again"],
    ],
  ],
  [
    "code injection: a stolen code in another sign-in",
    [
      ["authserver/tokens.test.ts", "another verifier"],
      ["authserver/tokens.test.ts", "another redirect URI"],
      ["authserver/tokens.test.ts", "is not exchanged by another client"],
      ["authserver/known-clients.test.ts", "with a secret cannot exchange its code without it"],
      ["signin/relying-party.test.ts", "the code of one attempt brought to another: the verifier does not fit"],
      ["signin/relying-party.test.ts", "another nonce"],
      ["upstream/grants/connect.test.ts", "refuses a code that the server refuses, such as another attempt's"],
      [
        "upstream/grants/connect.test.ts",
        "refuses the code of another person's sign-in, which was made for another challenge",
      ],
    ],
  ],
  [
    "mix-up: the answer of one authorization server is taken for another's",
    [
      ["authserver/code-flow.test.ts", "ends at the client's redirect URI with code, state and iss (RFC 9207)"],
      ["authserver/authorize.test.ts", "goes back to the client with iss and state: %s"],
      ["signin/relying-party.test.ts", "another server's iss: mix-up"],
      ["signin/relying-party.test.ts", "no iss although it is advertised (RFC 9207)"],
      ["upstream/grants/connect.test.ts", "iss is %s"],
      [
        "upstream/grants/connect.test.ts",
        "what an unnamed server says of itself after the attempt began does not excuse it",
      ],
      ["advisories/mix-up-without-iss.test.ts", "sends nobody anywhere while it does not say that its answers name it"],
      ["advisories/mix-up-without-iss.test.ts", "never hears the code of an honest server that %s"],
      ["advisories/mix-up-without-iss.test.ts", "nor is an error of the honest server taken for its own"],
      [
        "advisories/mix-up-without-iss.test.ts",
        "is sent a hostile server's code in vain, and the hostile one learns nothing",
      ],
      [
        "upstream/grants/connect.test.ts",
        "the code goes to the server of the attempt alone: when the upstream names another meanwhile, nowhere",
      ],
      ["upstream/grants/connect.test.ts", "nor to the server that another replica's configuration names by then"],
      [
        "upstream/grants/discovery.test.ts",
        "quarantines the upstream and names both, until configuration names the new one",
      ],
    ],
  ],
  [
    "PKCE downgrade",
    [
      ["authserver/authorize.test.ts", "no code challenge"],
      ["authserver/authorize.test.ts", "a challenge without a method"],
      ["authserver/authorize.test.ts", "the method plain"],
      ["authserver/authorize.test.ts", "a short challenge"],
      ["authserver/tokens.test.ts", "an empty verifier"],
      ["authserver/discovery.test.ts", "is the same document at %s"],
      [
        "signin/relying-party.test.ts",
        "asks for a code with PKCE S256, state and nonce, and keeps what only this browser may know",
      ],
      ["upstream/grants/discovery.test.ts", "a server that knows only plain"],
      [
        "upstream/grants/discovery.test.ts",
        "plain PKCE stays refused when an operator vouches: the server has said what it does",
      ],
    ],
  ],
  [
    "two exchanges of one code at once, in memory and in Redis, at one replica and at two",
    [
      ["authserver/tokens.test.ts", "exchanged twice at once succeeds exactly once, in each of ten rounds"],
      ["authserver/on-stores.test.ts", "the authorization server on $name"],
      [
        "authserver/on-stores.test.ts",
        "lets one of two parallel exchanges of a code win, in each of ten rounds, at two replicas",
      ],
      ["authserver/tokens.test.ts", "replayed later is refused, and what it gave is revoked"],
      ["authserver/provider-sign-in.test.ts", "takes each answer once"],
      ["upstream/grants/connect.test.ts", "lets one of two parallel answers through, and exchanges the code once"],
      [
        "upstream/grants/replicas.test.ts",
        "of two answers to one attempt that meet at two replicas at once, exactly one is taken, in each of ten rounds",
      ],
      ["authserver/assertion-grant.test.ts", "can be used once, also at the same moment and on another replica"],
      [
        "authserver/known-clients.test.ts",
        "cannot use an assertion twice, one after the other or at the same moment at two replicas",
      ],
    ],
  ],
  [
    "a link to connect, made for one person and opened by another",
    [
      ["connect/pages.test.ts", "of Ada opened by Bob is refused as CONNECT_NOT_YOURS with 403, read or answered"],
      ["connect/pages.test.ts", "for another %s is not this person's"],
      [
        "connect/pages.test.ts",
        "carries no authority: it signs nobody in, and shows a stranger only the ways to sign in",
      ],
      ["connect/pages.test.ts", "is finished in the browser session that began it, once"],
      ["upstream/grants/connect.test.ts", "refuses an attempt that somebody else finishes, and leaves it to its owner"],
      [
        "journey/connections.test.ts",
        "is one tool before, and its tools afterwards, for that person and client alone; open streams are told",
      ],
    ],
  ],
  [
    "SSRF: a URL that is discovered leads inside",
    [
      ["oauth/discovered-urls.test.ts", "leads nowhere when it is %s"],
      ["oauth/discovered-urls.test.ts", "leads to where it says, and no further by a redirect"],
      ["oauth/discovered-urls.test.ts", "is not even read on this machine where %s addresses are allowed"],
      ["oauth/discovered-urls.test.ts", "as its client's metadata document leads nowhere when it is %s"],
      ["oauth/discovered-urls.test.ts", "as the keys of its client leads nowhere when it is %s"],
      ["upstream/grants/egress.test.ts", "%s at an address that is %s is refused"],
      [
        "upstream/grants/egress.test.ts",
        "by name is judged at every dialling: an answer of the name server that changes afterwards leads nowhere",
      ],
      ["authserver/client-documents.test.ts", "never leads inside by an answer that changes between two looks"],
      ["upstream/egress.test.ts", "does not follow a %i"],
      ["upstream/egress.test.ts", "refuses this machine as %s when it is not allowed, before anything is dialled"],
    ],
  ],
];

/** Where URLs are discovered, as the tests that go to each of them have it. */
const places = [
  "an issuer's keys",
  "an issuer's introspection",
  "an assertion issuer's keys",
  "the company's provider's tokens",
  "the company's provider's keys",
  "the company's provider's UserInfo",
  "tokens for the gateway itself",
  "exchanged tokens",
  "identity assertions",
  "an upstream's metadata",
  "an upstream's authorization server",
  "an upstream's registration of clients",
  "an upstream's grants",
];

describe("an attack", () => {
  it.each(attacks)("%s: the tests that refuse it exist, and are expected to pass", (_attack, refusedBy) => {
    expect(faultsOf(refusedBy)).toEqual([]);
  });

  it("by a redirect is tried in fourteen ways at least", () => {
    const source = sourceOf("authserver/redirect-variants.test.ts");
    const variants = source.slice(source.indexOf("const variants"), source.indexOf("\n];"));
    expect(variants.match(/^ {2}\["/gm)?.length).toBeGreaterThanOrEqual(14);
  });

  it.each(["memory", "Redis"])("by a second exchange of a code is tried on %s", (store) => {
    expect(sourceOf("authserver/on-stores.test.ts")).toContain(`{ name: "${store}", open: open`);
  });

  it.each(places)("by the URL that is discovered for %s is tried", (place) => {
    expect(sourceOf("oauth/discovering.ts")).toContain(`"${place}"`);
  });
});
