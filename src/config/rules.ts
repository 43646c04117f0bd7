import type { PlacedFault } from "./fault.ts";
import type { RawConfig } from "./raw.ts";
import * as auth from "./rules-auth.ts";
import * as browser from "./rules-browser.ts";
import * as builtIn from "./rules-built-in.ts";
import * as parties from "./rules-built-in-parties.ts";
import * as catalog from "./rules-catalog.ts";
import * as credentials from "./rules-credentials.ts";
import * as files from "./rules-files.ts";
import * as issuers from "./rules-issuers.ts";
import * as listen from "./rules-listen.ts";
import * as lock from "./rules-lock.ts";
import * as keeping from "./rules-keeping.ts";
import * as presenting from "./rules-presenting.ts";
import * as publicSide from "./rules-public.ts";
import * as servers from "./rules-servers.ts";
import * as hop from "./rules-upstream-hop.ts";
import * as upstreams from "./rules-upstreams.ts";
import * as credentialWarnings from "./warnings-credentials.ts";
import * as issuerWarnings from "./warnings-issuers.ts";
import * as warnings from "./warnings.ts";
import type { Config } from "./types.ts";

/** What fields must hold together. A fault bears the name of the function that found it. */
export type Rule = (config: Config) => readonly PlacedFault[];

/** Rules about what was written, of which the filled-in configuration no longer tells. */
export const rawRules: readonly ((raw: RawConfig) => readonly PlacedFault[])[] = [
  auth.authIsNoneOrIssuers,
  auth.tenantIsStatedOnce,
  browser.browserNamesAnIssuer,
];

export const rules: readonly Rule[] = [
  publicSide.publicUrlIsAnOrigin,
  publicSide.publicUrlIsHttpsOrLoopback,
  publicSide.allowedOriginsAreOrigins,
  publicSide.listenersDoNotShareAPort,
  listen.listenTlsIsUsable,
  listen.listenTlsIsPublished,
  auth.authNoneBindsLoopback,
  auth.issuerAliasesAreUnique,
  auth.issuersAreUnique,
  auth.headlessNeedsRedisStore,
  issuers.issuerUrlsAreUsable,
  issuers.audiencesNameKnownServers,
  issuers.scopePrefixesNameKnownServers,
  issuers.issuersProveAnAudience,
  issuers.issuersAreNamedByTheirTokens,
  issuers.opaqueTokensHaveOneIssuer,
  issuers.issuerAuthoritiesArePem,
  builtIn.builtInNamesAreUnique,
  builtIn.clientScopesAreSupported,
  builtIn.redirectSchemesArePrivateUse,
  builtIn.permittedScopesAreSupported,
  builtIn.signingKeysAreAPrivateJwkSet,
  parties.providerStandsInForUsers,
  parties.providerUrlsAreUsable,
  parties.clientsCanProveThemselves,
  parties.clientKeysArePublic,
  parties.clientRedirectsAreSafe,
  parties.clientGrantsHaveTheirMeans,
  parties.assertionIssuersAreUnique,
  parties.assertionClientsHaveTheGrant,
  parties.assertionSubjectsAreTheirOwn,
  parties.assertionsOfTheProviderNameAlike,
  upstreams.upstreamUrlsAreUsable,
  upstreams.upstreamAddressesNeedConsent,
  hop.upstreamTlsIsUsable,
  hop.certificatesNeedTls,
  hop.forwardHeadersMayCross,
  credentials.staticHeadersAreNotTheGateways,
  credentials.staticCredentialsShowOneThing,
  credentials.headerValuesAreSendable,
  credentials.credentialIssuersAreHttps,
  credentials.credentialClientsCanProveThemselves,
  credentials.privateKeysCanSign,
  credentials.credentialsOfCallersNeedSignIn,
  credentials.exchangesNameTheirTarget,
  credentials.identityAssertionsNeedAProvider,
  credentials.grantClientsAreWhole,
  credentials.grantProfilesAreWhole,
  credentials.grantIssuersAreHttps,
  credentials.grantsNeedPages,
  credentials.grantUpstreamsHaveTheirPages,
  catalog.personalCatalogsNeedCallers,
  catalog.userGrantsReadForThemselves,
  lock.locksNeedAFile,
  lock.lockedCatalogsAreLocked,
  lock.lockWebhooksAreUsable,
  upstreams.deadlinesNameOneKind,
  files.filesUrlIsAnOrigin,
  files.filesUrlHasAHostOfItsOwn,
  files.filesStandApartFromSignInPages,
  files.fileRoutesAreReachable,
  servers.serverNamesAreNotReserved,
  servers.serversNameKnownUpstreams,
  servers.serversAdvertiseKnownIssuers,
  servers.minimalScopesAreSupported,
  servers.renamesDoNotCollide,
  presenting.presentationIdsAreUnique,
  presenting.presentationsNameTheServersUpstreams,
  presenting.presentedNamesDoNotCollide,
  presenting.writtenNamesFit,
  presenting.prefixesFit,
  presenting.itemNotesNameOneKind,
  keeping.redisUrlIsRedis,
  keeping.redisStoreNeedsKeys,
  keeping.lastGoodBundleNeedsKey,
  keeping.redisAuditNeedsRedisStore,
  keeping.requiredAuditHasSink,
  keeping.auditSinksAreUnique,
  keeping.keysAreLongEnough,
  keeping.limitsAgree,
];

export const warningRules: readonly Rule[] = [
  warnings.authNoneIsOpen,
  warnings.nothingIsAllowed,
  warnings.auditHasNoSink,
  warnings.operationsAreExposed,
  warnings.credentialsTravelInClear,
  warnings.upstreamsAreUnused,
  warnings.prefixesAreShared,
  issuerWarnings.audiencesAreShared,
  issuerWarnings.audiencesAreMissing,
  credentialWarnings.boundTokensAreNotExchanged,
  credentialWarnings.plainSubjectsMayBeShared,
];
