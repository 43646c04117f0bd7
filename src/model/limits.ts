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
  /** Streams that clients keep open: of one principal, and all of them, on one replica. */
  streamsPerPrincipalMax: 100,
  streamsMax: 10_000,
  /** How long a replica counts as holding a session's stream after it last said so; it does with every comment. */
  streamHolderMs: 60_000,
  /** Looks in a row at an open stream's token and session that may come to nothing before the stream ends. */
  streamChecksFailedMax: 1,
  /** How often what the client of an open stream sees is compared without a cause: conditions may read the time. */
  streamViewCheckMs: 60_000,
  /** Updates of resources wait this long, so that of several about one resource one is sent. */
  resourceUpdateSettleMs: 50,
  /** Pairs of session and upstream whose use this replica remembers to have noted. */
  sessionUsesRememberedMax: 20_000,
  /** How long a connection that spoke no readable HTTP is kept for the peer to read why and hang up. */
  refusedLingerMs: 1_000,
  /** From a connection to the end of its TLS handshake, where the public listener terminates TLS. */
  tlsHandshakeTimeoutMs: 10_000,
  jsonDepthMax: 64,
  jsonKeysPerObjectMax: 10_000,
  /** Members of arrays and objects together in one text. 250,000 take about 60 ms of the loop to walk. */
  jsonValuesMax: 250_000,
  /** What a server's instructions may take of a model's context. The longest met in the field have 4,000 characters. */
  instructionsCharsMax: 16_384,
  /** Elements of a JSON-RPC batch in a 2025-03-26 session. */
  batchElementsMax: 50,
  nameCharsMax: 128,
  /** Of a JSON-RPC id or a progress token. */
  rpcIdCharsMax: 1_024,
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
  /** Questions to one issuer about tokens that are no JWT, open at once. */
  introspectionsInFlightMax: 32,
  /** Least time between two such questions after one has failed. */
  introspectionRetryMsMin: 1_000,
  /** Tokens found not active within a window, after which only tokens that were active lately are asked about. */
  introspectionsInactivePerWindowMax: 100,
  introspectionWindowMs: 10_000,
  /** How long a token counts as not active, and as one that was active lately. */
  introspectionInactiveMs: 10_000,
  introspectionKnownMs: 3_600_000,
  /** Longest DPoP proof and `jti` in it, and how long after its `iat` a proof is accepted. */
  dpopProofBytesMax: 8_192,
  dpopProofIdCharsMax: 256,
  dpopProofSecondsMax: 60,
  /** How long a nonce for proofs is accepted; a new one is given out every half of it. */
  dpopNonceSecondsMax: 300,
  /** Headless tokens of one tenant, the items one is bound to, and its longest life: 366 days. */
  headlessTokensMax: 10_000,
  headlessTokenItemsMax: 200,
  headlessTokenMsMax: 31_622_400_000,
  /** Longest `sub`, client id or tenant a token may carry: they become part of store keys. */
  identityCharsMax: 1_024,

  sessionIdleMs: 1_800_000,
  sessionAgeMsMax: 86_400_000,
  sessionsPerPrincipalMax: 100,
  /** Least time between two writes that note a session's use: its idle life is exact to this much. */
  sessionTouchMsMin: 60_000,
  /** Largest session record: what a client says of itself at `initialize` is kept in it. */
  sessionRecordBytesMax: 65_536,
  /** How long the acknowledgement of a subscription waits for upstreams to be heard. */
  listenAcknowledgeMsMax: 2_000,
  /** Resources that one session may subscribe to, and what their names may take together. */
  sessionSubscriptionsMax: 1_000,
  sessionSubscriptionCharsMax: 262_144,
  /** Longest entry on the deny list that a command makes. */
  deniedSubjectDaysMax: 3_650,
  /** How long that command leaves it to replicas to end what they hold of somebody. */
  offboardingWaitMs: 3_000,
  /** Attempts to write a session's record that somebody else keeps changing. */
  sessionWriteAttemptsMax: 5,

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
  /** Attempts in a row to resume a call's stream that bring nothing new. The Go SDK's client makes as many. */
  upstreamResumptionsMax: 5,
  /** Pause before a stream is resumed whose upstream named none with `retry`, and the shortest one whatever it named. */
  upstreamResumptionPauseMs: 1_000,
  upstreamResumptionPauseMsMin: 100,
  eraVerdictAgeMsMax: 600_000,
  /** Credentials of one upstream whose verdict on its era, and on the streams it offers, is remembered. */
  upstreamErasMax: 1_000,
  upstreamSessionsMax: 10_000,
  upstreamSessionIdleMs: 600_000,
  upstreamSessionIdCharsMax: 1_024,
  /** Connections for what must not wait behind calls: probes, session opening, cancellations, replies. */
  upstreamControlConnectionsMax: 16,
  /** Connections for requests that look at a task or cancel it. */
  upstreamRecoveryConnectionsMax: 16,
  /** How long an event stream whose answer has arrived may take to end before its connection is dropped. */
  upstreamStreamLingerMs: 1_000,
  /** The same while a call waits for a connection. */
  upstreamStreamLingerMsMin: 20,
  upstreamIdleConnectionMs: 4_000,
  /** Consecutive failures within a window after which an upstream is suspended; 0 would be never. */
  upstreamFailuresMax: 5,
  upstreamFailureWindowMs: 120_000,
  /** Shortest and longest suspension; each that ends in another failure makes the next longer. */
  upstreamSuspensionMs: 5_000,
  upstreamSuspensionMsMax: 60_000,
  /** Streams of notifications from one upstream for clients: they have connections of their own, so that calls never wait for one. */
  upstreamStreamsMax: 256,
  /** Of these, streams of one principal: an eighth, so that a few principals do not take all. */
  upstreamStreamsPerPrincipalMax: 32,
  /** Streams on the gateway's own account, beside those: one that stands, and one that takes its place. */
  upstreamOwnStreamsMax: 2,
  /** How long a stream waits in a row for a connection that another holds; then it pauses like one that was lost. */
  upstreamStreamWaitMsMax: 30_000,
  /** Longest silence on such a stream, comments included; servers send one every 15 to 60 s. */
  upstreamStreamIdleMs: 300_000,
  /** Shortest and longest pause before a stream that was lost is opened again; one that lived for the longest begins anew. */
  upstreamReconnectMsMin: 1_000,
  upstreamReconnectMsMax: 60_000,
  /** Longest pause that an upstream may ask for with `retry`. */
  upstreamStreamRetryMsMax: 300_000,
  /** How long an upstream that offers no stream is not asked again. */
  upstreamStreamRefusedMs: 3_600_000,
  /** Events of one stream within a minute; a stream that brings more is closed and opened again after a pause. */
  upstreamStreamEventsPerMinuteMax: 6_000,
  /** Least time between two attempts to obtain an upstream credential after one failed. */
  upstreamCredentialRetryMsMin: 1_000,
  /** Longest value of a client's header that goes on to an upstream. */
  forwardedHeaderCharsMax: 4_096,
  /** Callers whose credential for one upstream is kept in memory. */
  upstreamCredentialsHeldMax: 10_000,
  /** How long a key signs the gateway's assertions that it made itself; the next one is published for as long before. */
  assertionKeyMs: 2_592_000_000,
  /** How long such keys are used before the store is asked whether they changed. */
  assertionKeysReadMs: 60_000,
  /** How long a token lives that came without `expires_in` (RFC 6749 §5.1). */
  upstreamTokenMsUnstated: 60_000,
  /** A token is renewed this long before it expires, or after half its life when that is shorter. */
  upstreamTokenLeewayMs: 30_000,
  /** How long what an upstream and its authorization server say of themselves is remembered. */
  upstreamAuthorizationAgeMsMax: 300_000,
  /** How long the authorization server that an upstream was first found with stays known while nobody connects. */
  upstreamIssuerIdleMs: 31_536_000_000,
  /** Longest time for a person to sign in at an upstream's authorization server. */
  grantAttemptMs: 600_000,
  /** Such sign-ins that one person may begin within that time. */
  grantAttemptsMax: 30,
  /** How long a user's grant, and a registration that grants are bound to, is kept while nobody uses it. */
  grantIdleMs: 7_776_000_000,
  /** Least time between two notes that a grant is in use. */
  grantTouchMs: 86_400_000,
  /** Clients for which a person may consent to one grant, and scopes of one grant. */
  grantClientsMax: 50,
  grantScopesMax: 200,
  /** Longest life of the lock under which one replica refreshes a grant: two requests that each take the longest, and then some. */
  grantRefreshLockMs: 20_000,
  /** How long the others wait for it, looking again after pauses from the shorter to the longer. */
  grantRefreshWaitMs: 15_000,
  grantRefreshPollMsMin: 20,
  grantRefreshPollMsMax: 400,
  /** Failed refreshes that are remembered, so that nobody asks again at once; when more fail, all begin anew. */
  grantFailuresRememberedMax: 10_000,

  /** Largest file that is fetched for a client, unless its upstream is configured otherwise. */
  fileBytesMax: 67_108_864,
  /** Files under way from one upstream; further ones are refused at once, so that downloads take no connection from calls. */
  filesInFlightPerUpstreamMax: 32,
  /** Longest name that a file is offered under, and longest validator (`ETag`) that is passed on. */
  fileNameCharsMax: 150,
  fileValidatorCharsMax: 256,
  /** Links of one result that are given their public address; later ones stay as they came. */
  linksPerResultMax: 1_000,
  /** How long a resource that a result named and no list has can be read. */
  linkProvenanceMs: 3_600_000,
  /** Such resources that are noted of one result, and within that time for one principal at one server, on one replica. */
  linksNotedPerResultMax: 200,
  linksNotedPerPrincipalMax: 10_000,
  /** Principals whose such resources are counted; the oldest begins anew. */
  linkOwnersRememberedMax: 10_000,

  listPagesMax: 50,
  /** Items of one page of a list towards clients: some never ask for a second one, so usual catalogs are one page. */
  listItemsPerPageMax: 1_000,
  listPageBytesMax: 4_194_304,
  /** Presentations of one server; each costs a table of what the server has. */
  presentationsPerServerMax: 100,
  /** Subschemas looked at to show one input schema without composition at its top; of the rest it then says nothing. */
  simplifiedSubschemasMax: 2_000,
  /** How long a cursor of such a list is good for. */
  listCursorMs: 3_600_000,
  /** Bytes of all pages of one list of an upstream: each is held until the last has come. */
  listBytesMax: 33_554_432,
  /** Expressions in one URI template; servers have one to three. */
  uriTemplateExpressionsMax: 32,
  itemsPerUpstreamMax: 1_000,
  catalogAgeMsMax: 60_000,
  catalogStaleMsMax: 600_000,
  /** Principals whose own lists are kept on one replica; the one that was not asked for longest goes. */
  personalCatalogsMax: 500,
  /** Items with findings in such lists that are remembered as reported: everybody's list has the same ones. */
  personalNoticesMax: 10_000,
  /** Longest time one upstream whose lists are not known yet delays a list that others can fill. */
  catalogWaitMsMax: 2_000,
  /** Pause after a failed reading of an upstream's lists. */
  catalogRetryMs: 5_000,
  /** Largest catalog lock, and how many values and levels its JSON may have: whole definitions stand in it. */
  catalogLockBytesMax: 33_554_432,
  catalogLockValuesMax: 1_000_000,
  catalogLockDepthMax: 96,
  catalogLockKeysPerObjectMax: 100_000,
  /** Definitions of one item that are approved at a time: those of a roll-out, which are two. */
  catalogLockApprovalsMax: 8,
  /** Names of approvers, and the reasons that they give. */
  catalogLockApproverCharsMax: 200,
  catalogLockReasonCharsMax: 1_000,
  /** How long an item stays quarantined after a list last showed it under a definition that nobody approved. */
  catalogDriftCalmMs: 300_000,
  /** Earlier definitions of one item that are remembered for that long; the oldest goes. */
  catalogFormerDefinitionsMax: 8,
  /** Drifted definitions that are remembered as reported; of more, the oldest is reported anew. */
  catalogDriftsRememberedMax: 10_000,
  /** Pause before lists that an upstream says have changed are read: it may have more to say. */
  catalogSettleMs: 250,
  /** Such readings that follow each other without a further pause. */
  catalogRefreshBurst: 5,
  /** Least time between two of them then, which doubles up to the second with every one that follows within the third. */
  catalogRefreshMsMin: 1_000,
  catalogRefreshMsMax: 30_000,
  catalogRefreshCalmMs: 60_000,
  /** Messages that wait for the webhook that is told of drift; further ones are lost, and counted. */
  webhookQueueMax: 1_000,
  /** For one attempt, and how many there are, each after twice the pause of the one before. */
  webhookTimeoutMs: 5_000,
  webhookAttemptsMax: 5,
  webhookRetryMs: 1_000,
  /** Largest answer of a webhook, of which the status alone is looked at. */
  webhookAnswerBytesMax: 65_536,
  viewsMax: 10_000,
  /** A principal's view is decided anew at least this often: conditions may read the time. */
  viewAgeMsMax: 5_000,
  callsInFlightPerPrincipalMax: 100,
  /** Requests about tasks that serve recovery (`tasks/get`, `tasks/cancel`, `tasks/list`): apart from calls, so neither keeps the other out. */
  recoveryInFlightPerPrincipalMax: 20,
  /** Cancellations of one principal within a minute, on one replica, that other replicas are told of because no call here has the id. */
  cancellationsToldPerMinuteMax: 600,
  /** Principals whose cancellations are counted; the oldest begins anew. */
  cancellersRememberedMax: 10_000,

  /** Tasks of one principal at one server; one call more may slip in while another is under way. */
  tasksPerPrincipalMax: 100,
  /** How long a task can be asked for, whatever its upstream says of its life. */
  taskAgeMsMax: 86_400_000,
  /** An upstream's own id of a task: the client's contains it, encrypted, and travels in a header. */
  taskIdCharsMax: 1_024,
  /** JSON text of a call's arguments that are kept with its task, encrypted, for decisions on the task. */
  taskArgumentsBytesMax: 65_536,
  /** JSON text of what is kept of a task's state; of a longer one what clients rely on is, its texts cut to the other two. */
  taskStateBytesMax: 8_192,
  taskStatusMessageCharsMax: 1_024,
  taskTimeCharsMax: 64,
  /** JSON text of the keys and kinds of what a task asks; beyond it its answers are judged by their shape. */
  taskAskedBytesMax: 8_192,

  /** What upstreams ask of clients. Requests that wait for one session's answers, and for all of a replica's. */
  askedWaitingPerSessionMax: 32,
  askedWaitingMax: 10_000,
  /** Requests in one `input_required` result, and such results to one call of a legacy client. The SDK's client stops after 10. */
  askedPerRoundMax: 20,
  askedRoundsMax: 10,
  /** JSON text of one such request, as it is sent to the client. */
  askedCharsMax: 1_048_576,
  askedFormFieldsMax: 100,
  askedMessagesMax: 1_000,
  askedToolsMax: 200,
  askedRootsMax: 1_000,
  /** Keys of requests, ids of elicitations. */
  askedIdCharsMax: 256,
  /** Validators of forms: one is used a few times, by the call that asks. */
  askedFormValidatorsMax: 100,
  /** An upstream's own request state as JSON text. Sealed, with what was asked, it has four thirds of that, and must fit `sealedHandleCharsMax`. */
  requestStateBytesMax: 131_072,
  /** How long a client may take to come back with what it was asked for. */
  requestStateMs: 900_000,
  /** How long a call waits for its person to connect the upstream; whoever takes longer calls again. */
  connectionWaitMs: 120_000,
  /** How often it looks for itself whether they have. */
  connectionPollMs: 3_000,
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
  /** Instructions that one pattern, and all different ones of a schema, may be compiled to; the second takes about 0.4 s. */
  schemaPatternInstructionsMax: 10_000,
  schemaPatternsInstructionsMax: 20_000,
  /** Characters times program size that all patterns of a schema may take for one value; a second on the slowest path. */
  schemaPatternStepsMax: 25_000_000,
  schemaCostMax: 10_000,
  schemaValidatorsMax: 5_000,
  /** Evaluations, of the most costly kind, that one value may take against one schema; about 0.4 s. */
  schemaStepsMax: 10_000_000,

  policyRulesMax: 10_000,
  /** Limits, presets, or JSON pointers of one kind, in one constrain rule. */
  policyRuleEntriesMax: 64,
  policyPointerCharsMax: 1_024,
  /** Rules that an explanation names: as many as somebody reads. */
  explainedRulesMax: 20,
  /** Of the tools that a rule is about, those whose arguments lint looks at. */
  lintedToolsMax: 50,
  /** Misspelt names for which lint looks for the nearest one; comparing takes longer than all else it does. */
  lintedSuggestionsMax: 100,
  /** Groups of decisions that a comparison of policies lists; those beyond are counted. */
  policyDiffGroupsMax: 10_000,
  /** JSON text of one preset. */
  policyPresetCharsMax: 16_384,
  policyPresetDepthMax: 16,
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
  /** The same from all addresses together: a network has as many as it likes. */
  oauthRegistrationsOfAllMax: 600,
  /** A client's metadata document, which a stranger names and the gateway fetches. */
  oauthClientDocumentBytesMax: 10_240,
  oauthClientDocumentTimeoutMs: 5_000,
  /** Readings kept of clients in use, good ones of others, and failures: of each so many, in one process. */
  oauthClientDocumentsMax: 500,
  /**
   * Readings under way at once, and fetches begun within a minute, of documents and of the keys that they name, in one
   * process: for clients in use, and as many for all others.
   */
  oauthClientDocumentFetchesMax: 8,
  oauthClientDocumentFetchesPerMinuteMax: 120,
  /** How long a document is taken as read: what its server says, within these; the middle one where it says nothing. */
  oauthClientDocumentAgeMsMin: 60_000,
  oauthClientDocumentAgeMs: 300_000,
  oauthClientDocumentAgeMsMax: 3_600_000,
  /** How long the last good one still serves while its server fails, and how long a failure is remembered. */
  oauthClientDocumentStaleMsMax: 86_400_000,
  oauthClientDocumentFailureMs: 10_000,
  /**
   * Authorizations under way in which nobody has signed in, and registrations, within the first of the times below, to
   * which nobody has consented: strangers write both, into a store that all share. The newest push the oldest out, so many at a time at most.
   */
  oauthInteractionsMax: 10_000,
  oauthRegistrationsUnusedMax: 2_000,
  oauthEvictedRecordsMax: 100,
  /** Authorizations in which one person has signed in and not consented yet. */
  oauthInteractionsPerPersonMax: 50,
  /** A registration nobody has consented to is forgotten after the first, one out of use after the second. */
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
  /** Longest life of an identity assertion, and how far apart the clocks of its issuer and of the gateway may be. */
  oauthAssertionSecondsMax: 3_600,
  oauthAssertionSkewSeconds: 30,
  oauthAssertionCharsMax: 16_384,
  /** How long and how often replicas look for the answer of the one that asks the provider about a person. */
  oauthRecheckWaitMs: 10_000,
  oauthRecheckPollMs: 50,
  /** What the provider said of somebody who has not come since is forgotten. */
  oauthPersonIdleMs: 7_776_000_000,
  /** How long a rotated refresh token still works, for clients that refresh twice at once. */
  oauthRefreshGraceMs: 10_000,
  /** How long a generated signing key signs; the next one is published for as long before, the last one for as long after. */
  oauthSigningKeyMs: 2_592_000_000,
  /** How long such keys are used before the store is asked whether they changed. */
  oauthSigningKeysReadMs: 60_000,
  /** Sign-ins that one browser has under way at the company's provider; each is a cookie. */
  oauthProviderAttemptsMax: 6,

  /** How long a limit's bucket is remembered from which nobody takes; then it is full again. 400 days. */
  limitCounterMsMax: 34_560_000_000,
  /** How long a replica that is gone still counts as having a call under way; one that is there says so three times as often. */
  limitLeaseMs: 60_000,
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

  /** How long one reading of a replica's messages waits at the store. */
  courierBlockMs: 1_000,
  courierMessagesPerReadMax: 16,
  /** Messages that wait for one replica, or for all; the oldest leave first. */
  courierMessagesMax: 10_000,
  /** How long a message from one replica to another waits for its receiver. */
  courierMessageMs: 60_000,
  /** Longest message: what a client answered must fit into it. */
  courierTextCharsMax: 8_388_608,
  courierRetryMs: 100,
  /** Longest sealed handle (request state, cursor, task id), in characters. */
  sealedHandleCharsMax: 262_144,

  /** Largest configuration file, and largest file of policies. */
  configurationBytesMax: 1_048_576,
  policyFileBytesMax: 8_388_608,
  policyFilesMax: 1_000,
  /** How often files that may be replaced while serving are looked at; a change counts once two looks agree on it. */
  bundlePollMs: 2_000,
  /** How long a shared store keeps what was last put in force. */
  keptBundleMs: 34_560_000_000,
  /** How long it keeps what another has taken the place of. */
  formerBundleMs: 3_600_000,
  /** Aliases that a YAML file may use; more is how a small file becomes a huge value. */
  yamlAliasesMax: 100,
  secretBytesMax: 65_536,
  /** Faults reported at once; a last one says how many more there are. */
  configurationFaultsMax: 100,

  /** How long somebody who signed in on the connect pages stays so in that browser. */
  browserSessionMs: 3_600_000,
  /** How long a sign-in at a provider, or a grant at an upstream's authorization server, may take in a browser. */
  browserAttemptMs: 900_000,
  /** Sign-ins at a provider that one browser has under way for the connect pages; each is a cookie. */
  browserSignInsMax: 4,
  /** Value of one such cookie. Browsers drop those over 4,096 bytes, and all of them are sent with every request. */
  browserCookieCharsMax: 2_000,
  /** How long a link to a connect page is good for. */
  connectLinkMs: 86_400_000,
  connectLinkCharsMax: 8_192,
  /** Groups that a company's provider may name of one person at sign-in. */
  groupsPerPersonMax: 2_000,

  /** Characters of one text in the gateway's own log. */
  logTextCharsMax: 2_048,
  logBufferBytesMax: 1_048_576,
} as const;

export type Limits = { readonly [Name in keyof typeof limits]: number };
