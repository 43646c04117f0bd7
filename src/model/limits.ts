/**
 * Every bound of the gateway, in one place. A name says what is bounded, in which unit, and whether
 * it is a maximum. Configuration may tighten or widen those listed under `limits` in its schema.
 */
export const limits = {
  /** Largest request body a client may send. The SDK's servers allow 4 MiB. */
  bodyBytesMax: 4_194_304,
  /** Longest wait for a request body once its headers have arrived. */
  bodyTimeoutMs: 30_000,
  /** Largest header block (names and values) of an inbound request. */
  headerBytesMax: 16_384,
  /** How long an idle client connection is kept; longer than the 60 s of common load balancers. */
  keepAliveMs: 72_000,
  /** Between two comments on an open event stream: common hops cut what is silent for 30 to 60 s. */
  streamCommentMs: 15_000,
  streamBacklogBytesMax: 1_048_576,
  /** How long a connection that spoke no readable HTTP is kept for the peer to read why and hang up. */
  refusedLingerMs: 1_000,
  jsonDepthMax: 64,
  jsonKeysPerObjectMax: 10_000,
  /** Members of arrays and objects together in one text. 250,000 take about 60 ms of the loop to walk. */
  jsonValuesMax: 250_000,
  /** What a server's instructions may take of a model's context. The longest met in the field have 4,000 characters. */
  instructionsCharsMax: 16_384,
  /** Elements of a JSON-RPC batch in a 2025-03-26 session. */
  batchElementsMax: 50,
  nameCharsMax: 128,
  uriCharsMax: 8_192,
  bearerBytesMax: 16_384,

  verifiedTokenSecondsMax: 60,
  verifiedTokensMax: 10_000,
  clockLeewaySeconds: 30,
  issuerMetadataBytesMax: 262_144,
  issuerKeysMax: 100,
  issuerFetchTimeoutMs: 5_000,
  issuerKeysAgeMsMax: 600_000,
  /** Least time between two key fetches that an unknown `kid` provokes. */
  issuerKeysRefetchMsMin: 30_000,
  /** Least time between two key fetches after one has failed. */
  issuerKeysRetryMsMin: 1_000,
  /** How long keys that cannot be fetched anew are still trusted, counted from their last good fetch. */
  issuerKeysStaleMsMax: 3_600_000,
  /** Keys tried on one token: without a bound, a token that names no `kid` costs one verification per key. */
  issuerKeysTriedMax: 4,
  /** Longest `sub`, client id or tenant a token may carry: they become part of store keys. */
  identityCharsMax: 1_024,

  sessionIdleMs: 1_800_000,
  sessionAgeMsMax: 86_400_000,
  sessionsPerPrincipalMax: 100,
  /** Least time between two writes that note a session's use: its idle life is exact to this much. */
  sessionTouchMsMin: 60_000,
  /** Largest session record: what a client says of itself at `initialize` is kept in it. */
  sessionRecordBytesMax: 65_536,

  upstreamConnectTimeoutMs: 5_000,
  upstreamFirstByteTimeoutMs: 60_000,
  upstreamIdleTimeoutMs: 60_000,
  upstreamCallTimeoutMs: 300_000,
  upstreamProbeTimeoutMs: 10_000,
  upstreamListTimeoutMs: 15_000,
  upstreamConnectionsMax: 64,
  upstreamQueueMax: 1_000,
  upstreamAnswerBytesMax: 10_485_760,
  /** As `jsonValuesMax`, for what upstreams send: results hold tables and vectors. */
  upstreamJsonValuesMax: 1_000_000,
  upstreamEventBytesMax: 10_485_760,
  upstreamEventsPerExchangeMax: 10_000,
  /** Requests that an upstream may send while it works on one: each is answered with a request of the gateway's. */
  upstreamRequestsPerExchangeMax: 100,
  eraVerdictAgeMsMax: 600_000,
  upstreamSessionsMax: 10_000,
  upstreamSessionIdleMs: 600_000,
  upstreamSessionIdCharsMax: 1_024,
  /** Connections for what must not wait behind calls: probes, session opening, cancellations, replies. */
  upstreamControlConnectionsMax: 16,
  /** How long an event stream whose answer has arrived may take to end before its connection is dropped. */
  upstreamStreamLingerMs: 1_000,
  upstreamIdleConnectionMs: 4_000,
  /** Least time between two attempts to obtain an upstream credential after one failed. */
  upstreamCredentialRetryMsMin: 1_000,
  /** How long a token lives that came without `expires_in` (RFC 6749 §5.1). */
  upstreamTokenMsUnstated: 60_000,
  /** A token is renewed this long before it expires, or after half its life when that is shorter. */
  upstreamTokenLeewayMs: 30_000,

  listPagesMax: 50,
  /** Bytes of all pages of one list of an upstream: each is held until the last has come. */
  listBytesMax: 33_554_432,
  /** Expressions in one URI template; servers have one to three. */
  uriTemplateExpressionsMax: 32,
  itemsPerUpstreamMax: 1_000,
  catalogAgeMsMax: 60_000,
  catalogStaleMsMax: 600_000,
  /** Longest time one upstream whose lists are not known yet delays a list that others can fill. */
  catalogWaitMsMax: 2_000,
  /** Pause after a failed reading of an upstream's lists. */
  catalogRetryMs: 5_000,
  viewsMax: 10_000,
  /** A principal's view is decided anew at least this often: conditions may read the time. */
  viewAgeMsMax: 5_000,
  callsInFlightPerPrincipalMax: 100,
  definitionBytesMax: 131_072,
  /** A definition or description is noted from here on; the largest seen in public catalogs are 31 KB and 3 KB. */
  definitionBytesNoted: 32_768,
  descriptionCharsNoted: 4_096,
  descriptionCharsMax: 16_384,
  parameterDescriptionCharsNoted: 2_048,
  parameterDescriptionCharsMax: 8_192,

  /** `Mcp-Param-*` headers that one tool may declare. */
  paramHeadersMax: 64,

  schemaDepthMax: 32,
  schemaSubschemasMax: 2_000,
  schemaEnumMax: 2_000,
  schemaPatternCharsMax: 1_000,
  schemaPatternsMax: 200,
  /** Characters times program size that all patterns of a schema may take for one value; about half a second on the slowest path. */
  schemaPatternStepsMax: 50_000_000,
  schemaCostMax: 10_000,
  schemaValidatorsMax: 5_000,
  /** Evaluations, of the most costly kind, that one value may take against one schema; about 0.4 s. */
  schemaStepsMax: 10_000_000,

  policyRulesMax: 10_000,
  conditionCharsMax: 4_000,
  conditionNestingMax: 2,
  conditionListItemsMax: 10_000,
  /** Cost of one evaluation of a condition, in list elements looked at (about 0.1 µs each). */
  conditionStepsMax: 100_000,

  textCharsMax: 1_048_576,
  errorMessageCharsMax: 1_000,
  findingsPerExchangeMax: 100,

  auditQueueMax: 10_000,
  /** Longest JSON text of one argument field that policy read; beyond it evidence has its digest. */
  auditFieldCharsMax: 1_000,
  auditEventBytesMax: 65_536,
  /** Redis Streams are trimmed to about this many events. */
  auditStreamEventsMax: 1_000_000,
  auditFlushMs: 50,
  /** Events that a sink receives in one write. */
  auditBatchEventsMax: 500,
  /** A write that takes longer counts as failing; it is not started anew while it is pending. */
  auditWriteTimeoutMs: 5_000,
  auditRetryMs: 1_000,
  /** Faults that one verification of an evidence chain lists; further ones are counted. */
  auditFaultsMax: 1_000,
  strangerBucketsMax: 10_000,
  strangerWindowMs: 60_000,

  /** Bodies of the built-in authorization server: forms and client registrations. */
  oauthBodyBytesMax: 32_768,
  oauthBodyTimeoutMs: 10_000,
  oauthRedirectUrisMax: 20,
  oauthRedirectUriCharsMax: 2_048,
  oauthClientNameCharsMax: 80,
  /** Registrations that one address may make within a window. */
  oauthRegistrationsMax: 60,
  oauthRegistrationWindowMs: 60_000,
  /** Authorizations under way, and registrations within the first of these times: strangers write both, into a store that all share. */
  oauthInteractionsMax: 2_000,
  oauthRegistrationsUnusedMax: 2_000,
  /** A registration nobody has signed in with is forgotten after the first, one out of use after the second. */
  oauthRegistrationUnusedMs: 86_400_000,
  oauthRegistrationIdleMs: 7_776_000_000,
  /** Failed sign-ins within a window: of one user from one address, and of one user from anywhere. */
  oauthSignInFailuresMax: 10,
  oauthSignInFailuresPerUserMax: 100,
  oauthSignInWindowMs: 900_000,
  /** Password checks under way at once in one process; each costs about 40 ms of one core. */
  oauthPasswordChecksMax: 4,
  oauthSignInSeconds: 28_800,
  oauthInteractionSeconds: 900,
  oauthCodeSeconds: 60,
  /** How long a rotated refresh token still works, for clients that refresh twice at once. */
  oauthRefreshGraceMs: 10_000,
  /** A generated signing key that no replica has touched for this long is forgotten. */
  oauthSigningKeyIdleMs: 31_536_000_000,

  storeCommandTimeoutMs: 1_000,
  storeConnectTimeoutMs: 3_000,
  /** Longest pause between two attempts to reach the store again. */
  storeReconnectMsMax: 1_000,
  /** Least time between two reconnections that a READONLY answer provokes. */
  storeReadonlyReconnectMsMin: 1_000,
  storeCommandsInFlightMax: 10_000,
  recordCharsMax: 1_048_576,
  memoryStoreEntriesMax: 100_000,
  drainMs: 20_000,

  /** Largest configuration file, and largest file of policies. */
  configurationBytesMax: 1_048_576,
  policyFileBytesMax: 8_388_608,
  policyFilesMax: 1_000,
  /** Aliases that a YAML file may use; more is how a small file becomes a huge value. */
  yamlAliasesMax: 100,
  secretBytesMax: 65_536,
  /** Faults reported at once; a last one says how many more there are. */
  configurationFaultsMax: 100,

  /** Characters of one text in the gateway's own log. */
  logTextCharsMax: 2_048,
  logBufferBytesMax: 1_048_576,
} as const;

export type Limits = { readonly [Name in keyof typeof limits]: number };
