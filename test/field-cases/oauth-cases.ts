import type { Case } from "./covering.ts";

/** Faults of discovery, tokens, sign-in, registration and consent. */
export const oauthCases: readonly Case[] = [
  {
    id: "oauth-prm-path-insertion",
    covers: [
      ["field-cases/signing-in.test.ts", "everybody may read it, with the credential %j as well"],
      ["field-cases/signing-in.test.ts", "is not %s: 404 in JSON and nobody's metadata, with one server and with two"],
      ["auth/protected-resource.test.ts", "inserts the well-known part of %s between origin and path"],
      ["interop/discovery.test.ts", "ends at the gateway's issuer and the server's resource, and gets in"],
    ],
  },
  {
    id: "oauth-prm-resource-verbatim-upstream",
    covers: [
      ["auth/protected-resource.test.ts", "names the resource byte for byte and one authorization server"],
      ["field-cases/signing-in.test.ts", "everybody may read it, with the credential %j as well"],
      ["interop/discovery.test.ts", "is sent there by the server's metadata"],
    ],
  },
  {
    id: "oauth-resource-trailing-slash",
    covers: [
      ["field-cases/signing-in.test.ts", "an audience with %j behind it is answered with %i"],
      ["field-cases/signing-in.test.ts", "an audience in capitals is another"],
      [
        "field-cases/signing-in.test.ts",
        "a request to %s is not redirected, which would cost it its credential, but told that nothing is there",
      ],
      ["authserver/tokens.test.ts", "is the server, %s"],
      ["upstream/grants/discovery.test.ts", "is the one published, character by character, in both requests"],
    ],
  },
  {
    id: "oauth-wrong-scheme-behind-tls",
    covers: [
      ["field-cases/signing-in.test.ts", "tells its public address whatever is said with %s"],
      ["field-cases/signing-in.test.ts", "says nothing of a host that it is not asked by"],
      ["oauth/discovery.test.ts", "every URL that is told is the public one"],
      ["authserver/discovery.test.ts", "never come from Host while an authorization is under way"],
    ],
  },
  {
    id: "oauth-401-without-challenge",
    covers: [
      ["field-cases/signing-in.test.ts", "%s: 401, with the one challenge, and its metadata is there"],
      ["journey/bad-token.test.ts", "$era: $fault is $code"],
      ["journey/bad-token.test.ts", "401 comes before 404, 405, 406 and 415: $method as $type"],
      [
        "auth/challenge.test.ts",
        "is one challenge of quoted ASCII values for every input, and every value can be cut out with a pattern",
      ],
      ["config/rules.test.ts", "$rule refuses $broken at $at"],
    ],
  },
  {
    id: "oauth-challenge-swallowed-by-proxy",
    covers: [
      ["interop/discovery.test.ts", "is challenged, whatever else is wrong with %s %j"],
      ["interop/discovery.test.ts", "finds nothing at %s and is never redirected"],
      [
        "upstream/credentials.test.ts",
        "are renewed once after a 401, by one of many, and the calls are executed once each",
      ],
      [
        "upstream/grants/refresh.test.ts",
        "and cannot be renewed sends the person to connect again, and costs the grant nothing",
      ],
    ],
  },
  {
    id: "oauth-wellknown-404-html",
    covers: [
      ["oauth/discovery.test.ts", "the well-known %s, which is not there, is JSON with 404 and no challenge"],
      ["authserver/discovery.test.ts", "is a JSON 404 at %s"],
      ["interop/discovery.test.ts", "finds nothing at the gateway's own %s"],
      ["field-cases/issuer-metadata.test.ts", "is found at %s behind pages that are answered with 200 elsewhere"],
    ],
  },
  {
    id: "oauth-issuer-identity",
    covers: [
      ["authserver/discovery.test.ts", "is the same document at %s"],
      ["authserver/code-flow.test.ts", "ends at the client's redirect URI with code, state and iss (RFC 9207)"],
      ["field-cases/issuer-metadata.test.ts", "is not that of %s"],
      ["auth/authenticate.test.ts", "the issuer with a slash more"],
      ["upstream/grants/connect.test.ts", "iss is %s"],
      ["upstream/grants/connect.test.ts", "an issuer that differs by a slash is another"],
      [
        "oauth/providers/providers.test.ts",
        "Auth0's issuer ends in a slash: a token that names it without one is of an unknown issuer",
      ],
      ["auth/authenticate.test.ts", "under an alias of the issuer belongs to the issuer itself"],
    ],
  },
  {
    id: "oauth-as-metadata-order",
    covers: [
      ["field-cases/issuer-metadata.test.ts", "is found at %s alone"],
      ["field-cases/issuer-metadata.test.ts", "is found at %s behind pages that are answered with 200 elsewhere"],
      ["field-cases/issuer-metadata.test.ts", "that is nowhere is looked for at three places, and nothing is guessed"],
      ["upstream/grants/discovery.test.ts", "is found when %s, and connecting succeeds"],
      ["upstream/grants/discovery.test.ts", "a server without metadata"],
      ["upstream/credentials.test.ts", "metadata is looked for at the three well-known forms in order"],
    ],
  },
  {
    id: "oauth-pkce-downgrade",
    covers: [
      ["authserver/authorize.test.ts", "a challenge without a method"],
      ["authserver/authorize.test.ts", "the method plain"],
      ["authserver/authorize.test.ts", "no code challenge"],
      ["authserver/tokens.test.ts", "another verifier"],
      ["authserver/tokens.test.ts", "an empty verifier"],
      ["authserver/tokens.test.ts", "replayed later is refused, and what it gave is revoked"],
      ["upstream/grants/discovery.test.ts", "a server that says nothing of PKCE"],
      [
        "upstream/grants/discovery.test.ts",
        "plain PKCE stays refused when an operator vouches: the server has said what it does",
      ],
      [
        "upstream/grants/discovery.test.ts",
        "goes without any metadata when an operator vouches for server and PKCE, as revision 2025-03-26 has it",
      ],
      [
        "upstream/grants/connect.test.ts",
        "asks with PKCE S256, state, resource and the redirect URI, and gives the person a token",
      ],
    ],
  },
  {
    id: "oauth-entra-resource-conflict",
    covers: [
      [
        "oauth/providers/providers.test.ts",
        "Entra ID refuses a resource that is not the scope's application, and the gateway relays nothing",
      ],
      ["upstream/grants/discovery.test.ts", "is not sent to a server that refuses it, once configured so"],
      ["upstream/grants/refresh.test.ts", "sends the resource along, and the same client"],
    ],
  },
  {
    id: "oauth-cognito-no-aud",
    covers: [
      ["auth/authenticate.test.ts", '"no audience"'],
      ["auth/profiles.test.ts", "Cognito: the client is no audience where there is one"],
      ["auth/profiles.test.ts", "Cognito: a client that nothing is mapped to"],
      ["auth/profiles.test.ts", "generic: the client is no audience"],
      ["oauth/providers/providers.test.ts", "lets its people in, by group and scope, as who they are"],
      ["oauth/providers/providers.test.ts", "has its ID tokens refused"],
    ],
  },
  {
    id: "oauth-keycloak-aud",
    covers: [
      ["oauth/providers/providers.test.ts", "Keycloak without an audience mapper issues tokens %s, which are refused"],
      ["auth/authenticate.test.ts", "the audience in a list"],
      ["auth/authenticate.test.ts", "a list without the audience"],
    ],
  },
  {
    id: "oauth-missing-resource-empty-aud",
    covers: [
      ["authserver/tokens.test.ts", "is the only server there is when none is named"],
      ["authserver/tokens.test.ts", "stays the same through a refresh, with and without being named"],
      ["authserver/authorize.test.ts", "no resource among several servers"],
      ["auth/authenticate.test.ts", "an empty audience"],
      ["auth/authenticate.test.ts", "an empty list of audiences"],
    ],
  },
  {
    id: "oauth-auth0-jwe-opaque",
    covers: [
      ["field-cases/signing-in.test.ts", "%s: 401 with a challenge, and nobody is asked on its word"],
      ["auth/authenticate.test.ts", "is refused, never thrown, whatever the text"],
      ["auth/introspection.test.ts", "is never shown to anybody at a server whose issuer is not asked"],
    ],
  },
  {
    id: "oauth-introspection-cache-revocation",
    covers: [
      ["auth/introspection.test.ts", "is remembered for a minute, and not a millisecond longer"],
      [
        "auth/introspection.test.ts",
        "that somebody is denied wins over what is remembered, and what was remembered is forgotten",
      ],
      [
        "auth/introspection.test.ts",
        "who make tokens up cost a bounded number of questions in a window, and people who are signed in nothing",
      ],
      [
        "oauth/providers/providers.test.ts",
        "ends a sign-in when it revokes it, and a token at once when it is denied here",
      ],
    ],
  },
  {
    id: "oauth-jwks-kid-miss",
    covers: [
      [
        "auth/discovery.test.ts",
        "rotate: a new key's first token is accepted after one fetch, and the old key's are refused",
      ],
      ["auth/discovery.test.ts", "are fetched at most twice for a storm of unknown kids"],
      ["auth/issuer-keys.test.ts", "stay trusted while the issuer is down, until they are too old"],
      ["auth/issuer-keys.test.ts", "that were removed are refused from the next fetch on"],
      ["auth/issuer-keys.test.ts", "unknown while the issuer is down are its unavailability, not the token's fault"],
      ["auth/issuer-keys.test.ts", "without a kid are tried up to a bound"],
      [
        "oauth/providers/providers.test.ts",
        "rotates its keys: the new key's tokens are taken at once, the old key's no longer",
      ],
    ],
  },
  {
    id: "oauth-clock-skew",
    covers: [
      ["oauth/providers/providers.test.ts", "has a clock that is %i s ahead: %s"],
      ["auth/authenticate.test.ts", "issued by a clock that runs ahead"],
      ["auth/authenticate.test.ts", "not valid for longer than the leeway"],
    ],
  },
  {
    id: "oauth-refresh-rotation-race",
    covers: [
      [
        "upstream/grants/replicas.test.ts",
        "fifty parallel calls at the moment of expiry on two processes come to one refresh and fifty successes",
      ],
      ["upstream/grants/refresh.test.ts", "fifty on two replicas come to one refresh and fifty successes"],
      ["upstream/grants/refresh.test.ts", "for whoever lost the race deletes nothing of the winner's"],
      [
        "upstream/grants/refresh.test.ts",
        "waiters give up within their time when the holder of the lock has died, and serve once the lock has ended",
      ],
      [
        "upstream/grants/refresh.test.ts",
        "by %s before the token was consumed loses no grant: tried once more at once",
      ],
      ["upstream/grants/refresh.test.ts", "again and again is told, keeps the grant, and is not repeated at once"],
      ["upstream/grants/refresh.test.ts", "is renewed at a time that differs between replicas"],
      ["authserver/tokens.test.ts", "used twice at once serves both, so that no client loses its sign-in to a race"],
      [
        "authserver/tokens.test.ts",
        "replayed after the grace window ends the whole family, and no other sign-in of the client",
      ],
      ["authserver/provider-sign-in.test.ts", "is asked for once by refreshes at the same moment, on two replicas too"],
    ],
  },
  {
    id: "oauth-session-bound-to-token-bytes",
    covers: [
      ["field-cases/signing-in.test.ts", "goes on, and permits what the new token permits"],
      [
        "field-cases/signing-in.test.ts",
        "is not there for anybody else, whose answer is that for a session that never was",
      ],
      ["session/sessions.test.ts", "survives a new token of the same principal, whatever that token permits"],
      ["session/sessions.test.ts", "presented by %s"],
      [
        "journey/bad-session.test.ts",
        "another principal's session is SESSION_NOT_YOURS inside, and outside the same bytes as none",
      ],
      ["oauth/providers/providers.test.ts", "keeps a session across a refresh"],
    ],
  },
  {
    id: "oauth-singleflight-wrong-key",
    covers: [
      [
        "upstream/credentials/token-exchange.test.ts",
        "is one for parallel calls of one caller, and another for every other",
      ],
      [
        "upstream/credentials/identity-assertion.test.ts",
        "is nobody else's: each caller has their own, and whose ID token is not kept has none",
      ],
      [
        "upstream/grants/credential.test.ts",
        "shows the upstream the token of the very person who calls, and of nobody else",
      ],
      ["auth/introspection.test.ts", "of one token says nothing of another that begins alike"],
    ],
  },
  {
    id: "oauth-upstream-credential-failure",
    covers: [
      [
        "upstream/credentials.test.ts",
        "that cannot be had fail the call before anything is sent, and the issuer is left in peace for a while",
      ],
      ["upstream/credentials/per-account.test.ts", "suspends the upstream for nobody"],
      ["upstream/credentials/token-exchange.test.ts", "one caller's failure is nobody else's"],
      [
        "journey/connections.test.ts",
        "is one tool again, at once and for open streams, when its person revokes the connection",
      ],
    ],
  },
  {
    id: "oauth-init-races-token-write",
    covers: [
      [
        "field-cases/connected.test.ts",
        "has its tokens in the same moment, at every replica, however slow the store is",
      ],
      ["field-cases/connected.test.ts", "is not told so when the record %j could not be written"],
      ["field-cases/connected.test.ts", "gets no code while what the provider said could not be written"],
      [
        "journey/connections.test.ts",
        "is one tool before, and its tools afterwards, for that person and client alone; open streams are told",
      ],
    ],
  },
  {
    id: "oauth-stale-client-registration",
    covers: [
      [
        "authserver/tokens.test.ts",
        "answers a client whose registration is lost with invalid_client, so that it registers again",
      ],
      [
        "upstream/grants/registration.test.ts",
        "is told when the person comes back, and the next attempt registers anew",
      ],
      [
        "upstream/grants/registration.test.ts",
        "takes a grant with it, as its tokens are bound to it, and the person is told why",
      ],
      ["upstream/grants/registration.test.ts", "keeps the grant when an operator made it: that mistake can be mended"],
    ],
  },
  {
    id: "oauth-scope-registration-mismatch",
    covers: [
      ["authserver/registration.test.ts", "registers $who"],
      ["authserver/tokens.test.ts", "partly unknown"],
      ["authserver/tokens.test.ts", "wholly unknown"],
      ["authserver/authorize.test.ts", "is answered with a code: %s"],
      [
        "interop/habitual-clients.test.ts",
        "is granted what every session needs, whether it asks for what the challenge names or all that is listed",
      ],
    ],
  },
  {
    id: "oauth-loopback-port",
    covers: [
      [
        "authserver/redirects.test.ts",
        "differs from a registered loopback URI in nothing but the port, whatever stands before the path",
      ],
      ["authserver/redirects.test.ts", "is not: %s"],
      [
        "authserver/redirect-variants.test.ts",
        "the port alone, is taken on loopback, where applications choose it anew (RFC 8252)",
      ],
      ["authserver/redirect-variants.test.ts", "%s, gets a page of ours and no redirect"],
      ["authserver/tokens.test.ts", "another redirect URI"],
    ],
  },
  {
    id: "oauth-confused-deputy-consent",
    covers: [
      ["authserver/pages.test.ts", "is shown again to each client and each time, though the browser is signed in"],
      ["authserver/pages.test.ts", "can be reloaded, answers once, and refuses the same answer twice"],
      [
        "authserver/pages.test.ts",
        "names client, user, server, scopes and where the browser goes, and warns of self-chosen names",
      ],
      ["authserver/pages.test.ts", "is refused %s, and nothing is granted"],
      ["authserver/provider-sign-in.test.ts", "finishes only in the browser that began it, and leaves it to that one"],
      ["authserver/provider-sign-in.test.ts", "takes each answer once"],
      ["authserver/discovery.test.ts", "makes cookies that belong to this origin alone"],
      ["connect/company-sign-in.test.ts", "the callback of one browser is refused in another"],
      [
        "connect/pages.test.ts",
        "is of this origin alone: no script, no frame, nothing loaded, no referrer elsewhere, not stored",
      ],
      ["upstream/grants/connect.test.ts", "is per client: a second client has no token before the person agrees"],
    ],
  },
  {
    id: "oauth-cimd-fetch",
    covers: [
      [
        "authserver/client-documents.test.ts",
        "lasts, when the server %s, as long as it says within a minute and an hour",
      ],
      ["authserver/client-documents.test.ts", "names another client_id"],
      ["authserver/client-documents.test.ts", "is elsewhere"],
      ["authserver/client-documents.test.ts", "never leads inside: %s"],
      ["oauth/discovered-urls.test.ts", "as its client's metadata document leads nowhere when it is %s"],
      ["oauth/discovered-urls.test.ts", "as the keys of its client leads nowhere when it is %s"],
    ],
  },
  {
    id: "oauth-dcr-abuse",
    covers: [
      ["authserver/registration.test.ts", "is 60 a minute from one address"],
      ["authserver/known-clients.test.ts", "are 600 a minute together, however many addresses they come from"],
      ["authserver/registration.test.ts", "refuses %s as invalid_redirect_uri"],
      ["authserver/registration.test.ts", "reads 32,768 bytes and not one more"],
      ["authserver/at-rest.test.ts", "keeps an unused registration for a day and one that was signed in with for 90"],
      [
        "field-cases/registrations.test.ts",
        "two applications that register are two, and neither may send people to where the other is",
      ],
    ],
  },
  {
    id: "oauth-token-endpoint-auth-method",
    covers: [
      ["authserver/tokens.test.ts", "signs in with %s"],
      ["authserver/tokens.test.ts", "work with the secret in the body too"],
      ["signin/relying-party.test.ts", "the secret goes %s"],
      ["upstream/grants/registration.test.ts", "in the form where that alone is offered"],
      ["upstream/credentials/client-authentication.test.ts", "%s sends it there and nowhere else"],
    ],
  },
  {
    id: "oauth-scope-step-up",
    covers: [
      [
        "oauth/scopes.test.ts",
        "names every scope of the rule and the server's minimal ones, whatever the token lacks of them",
      ],
      ["oauth/scopes.test.ts", "is what the first challenge does not yet ask for: that names the minimal scopes alone"],
      ["interop/step-up.test.ts", "is answered with one and the same challenge however often it is called"],
      ["auth/protected-resource.test.ts", "never offers offline_access"],
      [
        "interop/habitual-clients.test.ts",
        "gets a refusal of policy as a result, without a 401 or 403 that would send it to sign in",
      ],
    ],
  },
  {
    id: "oauth-discovery-ssrf",
    covers: [
      ["oauth/discovered-urls.test.ts", "leads nowhere when it is %s"],
      ["oauth/discovered-urls.test.ts", "leads to where it says, and no further by a redirect"],
      ["oauth/discovered-urls.test.ts", "is not even read on this machine where %s addresses are allowed"],
      ["upstream/grants/egress.test.ts", "%s at an address that is %s is refused"],
      [
        "upstream/grants/egress.test.ts",
        "for tokens that moves to a forbidden place between two uses keeps the grant and sends nothing there",
      ],
      [
        "upstream/egress.test.ts",
        "refuses a name when one of its addresses is not allowed, and dials what was judged, resolved once",
      ],
      ["upstream/egress.test.ts", "bounds the body: $bytes bytes against 1,000"],
    ],
  },
  {
    id: "http-cors-exposure",
    covers: [
      ["interop/discovery.test.ts", "ends at the gateway's issuer and the server's resource, and gets in"],
      ["oauth/discovery.test.ts", "ends at the gateway as its issuer, signs in, and gets in"],
      ["interop/discovery.test.ts", "is refused before it can send anything"],
      ["interop/discovery.test.ts", "is refused when it sends without a preflight, and cannot read why"],
      ["authserver/registration.test.ts", "allows scripts of any origin, since it looks at no cookie"],
    ],
  },
  {
    id: "security-token-passthrough-header-leak",
    covers: [
      ["journey/outbound-credentials.test.ts", "reaches no request to the upstream %s"],
      ["journey/outbound-credentials.test.ts", "reach an upstream only by the names that are configured for it"],
      ["journey/outbound-credentials.test.ts", "reach none with what says who or where somebody is"],
      [
        "journey/secrets.test.ts",
        "is the gateway's own credential, and never the caller's token, session, cookies or forwarded headers",
      ],
      ["upstream/credentials.test.ts", "may not name %j"],
    ],
  },
];
