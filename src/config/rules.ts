import type { PlacedFault } from "./fault.ts";
import type { RawConfig } from "./raw.ts";
import * as auth from "./rules-auth.ts";
import * as builtIn from "./rules-built-in.ts";
import * as files from "./rules-files.ts";
import * as keeping from "./rules-keeping.ts";
import * as publicSide from "./rules-public.ts";
import * as servers from "./rules-servers.ts";
import * as upstreams from "./rules-upstreams.ts";
import * as warnings from "./warnings.ts";
import type { Config } from "./types.ts";

/** What fields must hold together. A fault bears the name of the function that found it. */
export type Rule = (config: Config) => readonly PlacedFault[];

/** Rules about what was written, of which the filled-in configuration no longer tells. */
export const rawRules: readonly ((raw: RawConfig) => readonly PlacedFault[])[] = [
  auth.authIsNoneOrIssuers,
  auth.tenantIsStatedOnce,
];

export const rules: readonly Rule[] = [
  publicSide.publicUrlIsAnOrigin,
  publicSide.publicUrlIsHttpsOrLoopback,
  publicSide.allowedOriginsAreOrigins,
  publicSide.listenersDoNotShareAPort,
  auth.authNoneBindsLoopback,
  auth.issuerAliasesAreUnique,
  auth.issuersAreUnique,
  auth.issuerUrlsAreUsable,
  auth.audiencesNameKnownServers,
  builtIn.builtInNamesAreUnique,
  builtIn.clientScopesAreSupported,
  builtIn.redirectSchemesArePrivateUse,
  builtIn.signingKeysAreAPrivateJwkSet,
  upstreams.upstreamUrlsAreUsable,
  upstreams.upstreamAddressesNeedConsent,
  upstreams.staticHeadersAreNotTheGateways,
  upstreams.headerValuesAreSendable,
  upstreams.credentialIssuersAreHttps,
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
  keeping.redisUrlIsRedis,
  keeping.redisStoreNeedsKeys,
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
];
