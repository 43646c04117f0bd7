import type { Addresses } from "./types.ts";

/** `credential` as it stands in the file, once its structure was checked. Secrets are references. */
export type RawCredential =
  | { type: "none" }
  | { type: "static"; headers?: Record<string, string>; basic?: { username: string; password: string } }
  | ({ type: "clientCredentials" } & RawClient & RawTarget)
  | { type: "assertion"; audience?: string; subject?: "plain" | "qualified"; seconds?: number }
  | RawExchange
  | ({ type: "identityAssertion"; scopes?: string[]; resource?: string } & RawClient)
  | RawUserGrant;

export interface RawExchange extends RawClient, RawTarget {
  type: "tokenExchange";
  subjectTokenType?: "accessToken" | "jwt";
  actor?: "none" | "assertion";
  boundTokens?: "refuse" | "send";
}

export interface RawUserGrant {
  type: "user";
  title?: string;
  issuer?: string;
  clientId?: string;
  clientSecret?: string;
  scopes?: string[];
  sendResource?: boolean;
  assumePkce?: boolean;
  profile?: "standard" | "github" | "slack";
}

export interface RawClient {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  method?: "client_secret_basic" | "client_secret_post";
  privateKey?: string;
  keyId?: string;
  addresses?: Addresses;
}

export interface RawTarget {
  scopes?: string[];
  resource?: string;
  audience?: string;
}
