import { randomUUID } from "node:crypto";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { signInHeadlessly } from "./sign-in.ts";

export interface Login {
  readonly username: string;
  readonly password: string;
  /** What the person says to the application's request; `allow` unless said otherwise. */
  readonly answer?: "allow" | "deny";
}

/** One person at one application: what the application keeps of the sign-in, and the browser it opens. */
export interface Person {
  readonly username: string;
  /** What both SDKs ask for. It knows no server: everything has to come from discovery. */
  readonly provider: OAuthClientProvider;
  /** How often the application sent the person to the authorization server. */
  readonly visits: number;
  /** The scopes that the application asked for when it last did. */
  readonly scopeAsked: string | null | undefined;
  readonly registrations: readonly StoredOAuthClientInformation[];
  readonly tokens: StoredOAuthTokens | undefined;
  keepTokens(tokens: StoredOAuthTokens | undefined): void;
  /** Opens the page the application last sent the person to, signs in, answers, and returns what comes back. */
  signIn(): Promise<URLSearchParams>;
}

interface Kept {
  readonly registrations: StoredOAuthClientInformation[];
  tokens: StoredOAuthTokens | undefined;
  verifier: string;
  state: string;
  sentTo: URL | undefined;
  visits: number;
  discovered: OAuthDiscoveryState | undefined;
}

export function createPerson(login: Login): Person {
  const kept: Kept = {
    registrations: [],
    tokens: undefined,
    verifier: "",
    state: "",
    sentTo: undefined,
    visits: 0,
    discovered: undefined,
  };
  return {
    username: login.username,
    provider: providerOf(kept),
    registrations: kept.registrations,
    get visits() {
      return kept.visits;
    },
    get scopeAsked() {
      return kept.sentTo?.searchParams.get("scope");
    },
    get tokens() {
      return kept.tokens;
    },
    keepTokens: (tokens) => void (kept.tokens = tokens),
    signIn: async () => {
      if (kept.sentTo === undefined) throw new Error("the application has sent nobody to sign in");
      const back = await signInHeadlessly({ authorizationUrl: kept.sentTo, ...login });
      if (back.searchParams.get("state") !== kept.state) throw new Error("the answer belongs to another sign-in");
      return back.searchParams;
    },
  };
}

const redirectUrl = "http://127.0.0.1:49152/callback";

function providerOf(kept: Kept): OAuthClientProvider {
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "Sallyport quickstart",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => (kept.state = randomUUID()),
    clientInformation: () => kept.registrations.at(-1),
    saveClientInformation: (information) => void kept.registrations.push(information),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => {
      kept.sentTo = url;
      kept.visits += 1;
    },
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (state) => void (kept.discovered = state),
    discoveryState: () => kept.discovered,
    invalidateCredentials: (what) => {
      if (what === "all" || what === "client") kept.registrations.length = 0;
      if (what === "all" || what === "tokens") kept.tokens = undefined;
      if (what === "all" || what === "discovery") kept.discovered = undefined;
    },
  };
}
