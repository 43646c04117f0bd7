import { describe, expect, it } from "vitest";
import { faultsOf, sourceOf } from "./covering.ts";
import type { Case } from "./covering.ts";
import { oauthCases } from "./oauth-cases.ts";

const cases: readonly Case[] = [
  {
    id: "session-unknown-status",
    covers: [
      ["journey/bad-session.test.ts", "$fault is $code"],
      [
        "journey/bad-session.test.ts",
        "another principal's session is SESSION_NOT_YOURS inside, and outside the same bytes as none",
      ],
      ["field-cases/status-matrix.test.ts", "to $what are as recorded"],
      [
        "interop/habitual-clients.test.ts",
        "recovers from a session that is gone, in its own way and without signing in again",
      ],
    ],
  },
  {
    id: "session-partial-expiry-multiplex",
    covers: [
      [
        "field-cases/lapses.test.ts",
        "is initialized anew alone, unseen by the client, and when it is gone for good it alone fails",
      ],
    ],
  },
  {
    id: "session-stateless-upstream",
    covers: [
      [
        "field-cases/lapses.test.ts",
        "whether it grants sessions or none: the one always sees its id, the other never the header",
      ],
      [
        "upstream/legacy-hop.test.ts",
        "without sessions never sees the header, and one that begins to grant them is followed",
      ],
    ],
  },
  {
    id: "session-replicas",
    covers: [
      ["journey/isolation.test.ts", "opened on one instance works on the other, and ended there is ended here"],
      ["journey/get-stream.test.ts", "the newest stream of a session wins, on whichever replica"],
    ],
  },
  {
    id: "session-shared-transport-crosstalk",
    covers: [
      ["journey/isolation.test.ts", "get their own answers alone, each of them, whichever instance and era they meet"],
      ["chaos/isolation-canary.test.ts", "nobody hears a foreign canary, nothing hangs, and no call is lost"],
      [
        "journey/progress.test.ts",
        "is asked of the upstream under a token that no client chose, and of two clients never under one",
      ],
    ],
  },
  {
    id: "shared-http-client-state",
    covers: [
      ["field-cases/lapses.test.ts", "keeps no cookie of one for the next, and hands none to clients"],
      [
        "field-cases/lapses.test.ts",
        "opens no more connections than it may under 500 calls, and what finds no place in the queue is told so",
      ],
    ],
  },
  {
    id: "session-ping-defederation",
    covers: [
      ["field-cases/lapses.test.ts", "stays listed and callable, and no client's ping depends on it"],
      ["upstream/breaker.test.ts", "consecutive failures suspend: $name"],
      ["upstream/breaker.test.ts", "after the pause one exchange finds out, and its success resumes"],
    ],
  },
  {
    id: "sse-resume-replay-isolation",
    covers: [
      [
        "field-cases/statuses.test.ts",
        "with a POST of a $client client to a $server server changes nothing: it is a new request",
      ],
      [
        "field-cases/statuses.test.ts",
        "with the GET of another's session replays nothing: streams have no event ids, and none is looked for",
      ],
    ],
  },
  {
    id: "sse-upstream-get-retry-storm",
    covers: [
      ["upstream/watch-legacy.test.ts", "an upstream that offers no stream is asked once, whoever watches: $name"],
      [
        "upstream/watch-modern.test.ts",
        "an upstream whose streams die at once is asked no more often than the pauses allow",
      ],
      [
        "journey/list-changed.test.ts",
        "is sent for a definition that changed under the same name, and not for an upstream that only says so",
      ],
      ["journey/list-changed.test.ts", "costs a bounded number of readings, however much the upstream says"],
    ],
  },
  {
    id: "sse-keepalive-idle",
    covers: [
      ["field-cases/silences.test.ts", "after a report is kept alive by comments, of which a reader sees nothing"],
      [
        "journey/get-stream.test.ts",
        "opens at once with a comment, is not buffered, and stays alive by comments without event ids",
      ],
      ["journey/get-stream.test.ts", "ends at once when the gateway drains"],
      [
        "journey/drain.test.ts",
        "finishes the call under way, keeps its evidence, refuses what comes late as DRAINING, and then is gone",
      ],
      ["field-cases/silences.test.ts", "is kept alive by comments too, for a %s client"],
    ],
  },
  {
    id: "sse-parser-framing",
    covers: [
      ["fuzz/stream-framing.test.ts", "is read back whole, for a cut at every single byte"],
      ["fuzz/stream-framing.test.ts", "loses its last message and no other when the stream ends within it"],
      ["fuzz/stream-framing.test.ts", "reaches every client as the same answer, however it is framed and cut"],
      ["protocol/sse.test.ts", "reads what a server with CRLF sends, byte by byte"],
      ["protocol/sse.test.ts", "counts what arrives in pieces, and frees it with each event"],
    ],
  },
  {
    id: "sse-first-event-only",
    covers: [
      ["fuzz/stream-framing.test.ts", "reaches every client as the same answer, however it is framed and cut"],
      ["journey/progress.test.ts", "comes under the client's own token %j, only ever increasing, before the answer"],
      ["upstream/degenerate-replies.test.ts", "$reply is a result"],
      [
        "upstream/asked.test.ts",
        "reaches nobody: requests, reports and log messages end with it, also within one piece of bytes",
      ],
    ],
  },
  {
    id: "retry-double-execution",
    covers: [
      ["field-cases/executions.test.ts", "and %s: is executed once, and says that nobody knows"],
      [
        "field-cases/executions.test.ts",
        "because the server hangs up after each answer is carried out all the same, once",
      ],
      ["upstream/outcome.test.ts", "is unknown after its side effect when the socket drops, and it is executed once"],
    ],
  },
  {
    id: "http-error-status-mapping",
    covers: [
      ["field-cases/statuses.test.ts", "%s is a JSON-RPC answer to its own request, and the session goes on"],
      ["field-cases/status-matrix.test.ts", "to $what are as recorded"],
      [
        "journey/failing-upstream.test.ts",
        "an upstream's own error reaches the caller as an error, cleaned, with the outcome failed",
      ],
    ],
  },
  {
    id: "http-body-limit",
    covers: [
      ["journey/bad-body.test.ts", "takes a body of exactly the limit"],
      ["journey/bad-body.test.ts", "$era: $body is $code"],
      ["journey/bad-http.test.ts", "a chunk that breaks off mid-body is BODY_INCOMPLETE"],
      ["upstream/degenerate-replies.test.ts", "the size of an answer"],
    ],
  },
  {
    id: "http-hop-headers",
    covers: [
      ["field-cases/headers.test.ts", "%s is answered %s"],
      ["field-cases/headers.test.ts", "%s: 400, -32020, and nothing reaches the upstream"],
      ["field-cases/headers.test.ts", "%s: is no difference, and the upstream gets its own name in body and header"],
      ["config/rules.test.ts", "$rule refuses $broken at $at"],
    ],
  },
  {
    id: "jsonrpc-batch-bypass",
    covers: [
      ["field-cases/messages.test.ts", "%s: is refused, or each part is judged by itself"],
      ["field-cases/messages.test.ts", "leaves its evidence, each time"],
      ["journey/batch.test.ts", "is unbundled: every element is judged and answered by itself, under its own id"],
      ["fuzz/differential.test.ts", "is refused, or the upstream sees exactly what was judged, however it reads JSON"],
    ],
  },
  {
    id: "jsonrpc-id-types",
    covers: [
      ["field-cases/messages.test.ts", "spelled %s comes back as %s"],
      ["field-cases/messages.test.ts", "that is missing makes no call of it"],
    ],
  },
  {
    id: "policy-list-vs-call",
    covers: [
      ["journey/visibility.test.ts", "$era: $name is $standing to $who"],
      ["journey/visibility.test.ts", "$era: $name answers $who with the bytes of an unknown item"],
      [
        "journey/completion.test.ts",
        "of a hidden prompt is answered like that of an unknown one, and the upstream sees nothing",
      ],
    ],
  },
  {
    id: "pagination-proxy",
    covers: [
      ["field-cases/pages.test.ts", "$method: clients of both eras get the union once, in the upstream's order"],
      ["field-cases/pages.test.ts", "because it %s: the list is an error within the bound, and never empty"],
      ["field-cases/pages.test.ts", "$method: followed to its end has every item once, for each principal"],
      ["field-cases/pages.test.ts", "that nobody gave out, %j, is refused with -32602"],
      [
        "field-cases/pages.test.ts",
        "of another principal, another list or another server is refused like one nobody gave out",
      ],
    ],
  },
  {
    id: "schema-provider-shape",
    covers: [
      [
        "advisories/one-bad-item.test.ts",
        "is one that a strict client reads, and has the others, without marks that are the gateway's",
      ],
      ["advisories/one-bad-item.test.ts", "withholds those, says so to whoever calls one, and never sends it on"],
      ["journey/names-shown.test.ts", "take more than the tool does, which is then told so, and never called"],
      ["catalog/simplify.test.ts", "is shown flat, and takes every object that the original takes"],
    ],
  },
  {
    id: "partial-upstream-failure",
    covers: [
      ["field-cases/lapses.test.ts", "the list has what can be had, and what recovers joins it without a restart"],
      [
        "field-cases/lapses.test.ts",
        "with all of them down at the start: an error in either era, never an empty list, and then it works",
      ],
      ["journey/failing-upstream.test.ts", "and hangs delays a list once, by its bound, and no call at all"],
    ],
  },
  {
    id: "resource-uri-opaque",
    covers: [
      ["field-cases/round-trip.test.ts", "reads %s, which reaches the server byte by byte"],
      ["field-cases/round-trip.test.ts", "is refused a URI that is listed in another spelling only"],
      ["journey/collision-at-start.test.ts", "is refused, naming the item, both upstreams and what helps"],
      ["advisories/uri-readings.test.ts", "and a URI that templates of two upstreams match is read from neither"],
    ],
  },
  {
    id: "cancellation-proxy",
    covers: [
      [
        "field-cases/cancellations.test.ts",
        "that is cancelled ends upstream, under the upstream's own id, and nowhere else",
      ],
      [
        "field-cases/cancellations.test.ts",
        "of another client's request, of one that is over, or of none is taken and changes nothing",
      ],
      [
        "field-cases/cancellations.test.ts",
        "of one of a hundred requests with the same id ends that one, and ninety-nine finish",
      ],
      ["field-cases/cancellations.test.ts", "is free again once its call is cancelled"],
    ],
  },
  {
    id: "m26-discover-then-header-mismatch",
    covers: [
      [
        "field-cases/revisions.test.ts",
        "opens in its own revision, lists, calls and reads, and each hop speaks its own",
      ],
      ["field-cases/revisions.test.ts", "of %s never saw another revision's version, session, headers or _meta"],
      ["field-cases/revisions.test.ts", "%s in a modern request is 400, -32022, and names what would do"],
      ["field-cases/revisions.test.ts", "%j at initialize is answered with the newest legacy one"],
    ],
  },
  {
    id: "m26-modern-client-legacy-upstream",
    covers: [
      ["field-cases/revisions.test.ts", "sees one handshake for each principal, whatever they send and how often"],
      ["field-cases/revisions.test.ts", "never shows them its error %i, which their revision has not"],
      ["field-cases/revisions.test.ts", "is told of an unknown resource in the words of its own era"],
    ],
  },
  {
    id: "m26-header-body-mismatch",
    covers: [
      ["field-cases/headers.test.ts", "%s: 400, -32020, and nothing reaches the upstream"],
      ["field-cases/headers.test.ts", "%j are compared all the same: %i"],
    ],
  },
  {
    id: "m26-mrtr",
    covers: [
      [
        "journey/asking-modern.test.ts",
        "comes as the call's result, and the retry with the answers brings the upstream its own state, byte for byte",
      ],
      ["journey/asking-modern.test.ts", "that is %s is refused in band, and no upstream sees it"],
      ["journey/asking-modern.test.ts", "resumes as often as it is sent, unless the operator says once"],
      ["journey/asking-modern.test.ts", "refuses the call where it %s"],
      ["gateway/sealing.test.ts", "is opened by a key that has been replaced, and by none that is gone"],
    ],
  },
  {
    id: "m26-endpoint-acceptance",
    covers: [
      ["field-cases/status-matrix.test.ts", "to $what are as recorded"],
      ["field-cases/status-matrix.test.ts", "are the same whatever era the server behind speaks"],
    ],
  },
  {
    id: "session-leak",
    covers: [
      ["session/sessions.test.ts", "comes after its idle life, counted from its last noted use"],
      ["session/sessions.test.ts", "comes at its greatest age, however busy it is"],
      ["session/sessions.test.ts", "leaves nothing in the store"],
      ["session/sessions.test.ts", "of one principal is bounded, across servers, and nobody else's is"],
      ["journey/session-life.test.ts", "longer than its session may idle keeps it: the next call needs no new session"],
    ],
  },
  {
    id: "jsonrpc-null-args",
    covers: [
      [
        "field-cases/arguments-and-results.test.ts",
        "%s are an error result that names what does not fit, and nothing is sent",
      ],
      [
        "field-cases/arguments-and-results.test.ts",
        "that are %s are an error result that says what they must be, and nothing is sent",
      ],
      ["field-cases/arguments-and-results.test.ts", "keep a null where the schema allows it"],
    ],
  },
  {
    id: "tool-prefix-ambiguity",
    covers: [
      [
        "field-cases/names.test.ts",
        "%s reaches %s under the server's own name %s, in body and header, from clients of both eras",
      ],
      [
        "field-cases/names.test.ts",
        "two tools of two servers that come to bear one name are refused at the start, and no order decides",
      ],
      ["catalog/collisions.test.ts", "no longer collide under a prefix, nor do a{b_c} and a_b{c} under theirs"],
    ],
  },
  {
    id: "tool-name-64-limit",
    covers: [
      [
        "journey/names-shown.test.ts",
        "are shown under names that they take, the same at every replica and in every order",
      ],
      [
        "journey/names-shown.test.ts",
        "are called by them, from clients of both eras, and the upstream is sent its own",
      ],
      ["catalog/names.test.ts", "are each other's only where two items are called the same"],
    ],
  },
  {
    id: "output-schema-validation",
    covers: [
      ["field-cases/arguments-and-results.test.ts", "that %s is an error result without any of it"],
      ["field-cases/arguments-and-results.test.ts", "that is the tool's own error is the caller's, %s"],
      ["journey/treatment.test.ts", "in mode %s treat results that break them as told"],
    ],
  },
  {
    id: "schema-dialects",
    covers: [
      ["schema/checker.test.ts", "realistic schemas that declare %j"],
      ["schema/checker.test.ts", "schemas that depend on their dialect"],
      ["schema/checker.test.ts", "a schema that cannot be used says why"],
    ],
  },
  {
    id: "audit-secrets-fail-open",
    covers: [
      ["journey/secrets.test.ts", "in the log, at its most talkative"],
      [
        "journey/secrets.test.ts",
        "in the evidence, where the one field that policy read stands in its place and nowhere else",
      ],
      [
        "journey/store-outage.test.ts",
        "refuses calls as AUDIT_UNAVAILABLE before anything is forwarded, and goes on once it is kept again",
      ],
    ],
  },
  ...oauthCases,
];

describe("a fault that gateways have had in the field", () => {
  it.each(cases)("$id: the tests that cover it exist, and are expected to pass", ({ covers }) => {
    expect(faultsOf(covers)).toEqual([]);
  });

  it("has one entry", () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  });

  it("is covered by files that expect no failure", () => {
    const files = new Set(cases.flatMap(({ covers }) => covers.map(([file]) => file)));
    expect([...files].filter((file) => /\b(?:it|test)\.fails\b/.test(sourceOf(file)))).toEqual([]);
  });
});
