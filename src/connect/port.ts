import type { RecordReads, RecordWrites } from "../model/records.ts";
import type { Refusal } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";

/** What the pages need of a store: who is signed in, in which browser. */
export type BrowserRecords = RecordReads & RecordWrites;

/** Authenticated encryption of what browsers and links carry; opens what older keys sealed too. */
export interface Sealer {
  seal(associated: string, text: string): string;
  /** Undefined for what was not sealed by a known key under the same associated text. */
  open(associated: string, sealed: string): string | undefined;
}

/** A human being, whichever client acts for them. The same as in the principals of their tokens. */
export interface Person {
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
}

/** Somebody who signed in here. */
export interface SignedIn {
  readonly person: Person;
  /** For people to read. */
  readonly name: string;
  /** Issuer-qualified: `corp:support`. */
  readonly groups: readonly string[];
}

/** A form of ours, with the same passwords and the same count of attempts as the authorization server's own pages. */
export interface PasswordWay {
  readonly kind: "password";
  readonly id: string;
  readonly issuer: string;
  readonly label: string;
  check(attempt: {
    readonly username: string;
    readonly password: string;
    readonly address: string;
  }): Promise<{ readonly kind: "signed-in"; readonly who: SignedIn } | { readonly kind: "wrong" | "limited" | "busy" }>;
}

/** At a provider: the browser goes there and returns to `/connect/callback`. */
export interface ProviderWay {
  readonly kind: "provider";
  readonly id: string;
  /** The issuer of the persons that it makes, which a broker's own issuer is not. */
  readonly issuer: string;
  readonly label: string;
  begin(state: string): Promise<Result<{ readonly url: string; readonly kept: string }>>;
  finish(attempt: {
    readonly state: string;
    readonly kept: string;
    readonly parameters: URLSearchParams;
  }): Promise<Result<SignedIn>>;
}

export type SignInWay = PasswordWay | ProviderWay;

/** What one person may use, as policy and catalogs say now. */
export interface Reach {
  readonly servers: readonly { readonly name: string; readonly title: string; readonly url: string }[];
  /** Upstreams behind those servers. */
  readonly upstreams: ReadonlySet<string>;
}

/** A person's own grants at upstreams' authorization servers. The person is always the one who signed in. */
export interface UserGrants {
  /** Those with credential.type user. */
  upstreams(): readonly { readonly name: string; readonly title: string }[];
  describe(person: Person, upstream: string): Promise<Result<GrantDescription>>;
  /**
   * Where the person allows it, and what `finish` needs again: it is kept with this browser's session, used once. The
   * answer brings the `state` back.
   * `clientId` is the client that is consented to with the grant; empty when the person connects without one.
   */
  begin(request: {
    readonly person: Person;
    readonly clientId: string;
    readonly upstream: string;
    readonly redirectUri: string;
  }): Promise<Result<{ readonly url: string; readonly attempt: string; readonly state: string }>>;
  finish(request: {
    readonly person: Person;
    readonly attempt: string;
    readonly params: URLSearchParams;
  }): Promise<Result<{ readonly upstream: string }>>;
  /** A grant is there already; one more client may use it. */
  consent(person: Person, clientId: string, upstream: string): Promise<Result<void>>;
  revoke(person: Person, upstream: string): Promise<Result<{ readonly revokedAtProvider: boolean }>>;
}

export interface GrantDescription {
  readonly connected: boolean;
  /** Why a grant that was there is no longer good. */
  readonly reason?: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  /** Client ids that the person consented to. */
  readonly clients: readonly string[];
  /** The upstream's authorization server. */
  readonly issuer: string;
}

/** What strangers read of a refusal, by the gateway's one table, once it has been counted and logged. */
export type Says = (
  refusal: Refusal,
  address: string,
) => { readonly status: number; readonly text: string; readonly ref: string };
