import type { BuiltInGrant } from "./types-built-in.ts";
import type { Addresses } from "./types.ts";

/** `auth.builtIn` as its file has it. */
export interface RawBuiltIn {
  alias?: string;
  users?: RawUser[];
  provider?: RawProvider;
  scopesByGroup?: Record<string, string[]>;
  clients?: RawClient[];
  assertionIssuers?: RawAssertionIssuer[];
  redirectSchemes?: string[];
  accessTokenSeconds?: number;
  refreshTokenSeconds?: number;
  cookieSecret?: string;
  cookieSecretPrevious?: string[];
  signingKeys?: string;
}

export interface RawUser {
  username: string;
  password: string;
  subject?: string;
  name?: string;
  groups?: string[];
  scopes?: string[];
}

export interface RawClient {
  clientId: string;
  name?: string;
  clientSecret?: string;
  jwks?: string;
  redirectUris?: string[];
  grants?: BuiltInGrant[];
  scopes?: string[];
}

export interface RawProvider {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  scopes?: string[];
  subjectFrom?: string;
  groupsClaim?: string;
  regrantSeconds?: number;
  addresses?: Addresses;
}

export interface RawAssertionIssuer {
  alias: string;
  issuer: string;
  jwksUri?: string;
  subjectFrom?: "sub" | "email";
  groupsClaim?: string;
  clients?: string[];
  addresses?: Addresses;
}
