import { randomUUID } from "node:crypto";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";

export interface Login {
  readonly username: string;
  readonly password: string;
  /** What the person says to the application's request; `allow` unless said otherwise. */
  readonly answer?: "allow" | "deny";
}

/** What an application keeps of one person's sign-in at one server, and the browser that it opens. */
export interface Person {
  readonly provider: OAuthClientProvider;
  /** How often the application sent the person to the authorization server. */
  readonly visits: number;
  /** The scopes that the application asked for when it last did. */
  readonly scopeAsked: string | null | undefined;
  readonly registrations: readonly StoredOAuthClientInformation[];
  readonly tokens: StoredOAuthTokens | undefined;
  keepTokens(tokens: StoredOAuthTokens | undefined): void;
  /** Goes where the application last sent the person, signs in, and returns what the redirect carries. */
  visit(): Promise<URLSearchParams>;
}

const redirectUrl = "http://127.0.0.1:49152/callback";

/** Knows nothing but its login: everything else has to come from discovery. */
export function createPerson(login: Login): Person {
  const registrations: StoredOAuthClientInformation[] = [];
  let tokens: StoredOAuthTokens | undefined;
  let verifier = "";
  let state = "";
  let discovered: OAuthDiscoveryState | undefined;
  let sentTo: URL | undefined;
  let visits = 0;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: "interop",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => (state = randomUUID()),
    clientInformation: () => registrations.at(-1),
    saveClientInformation: (information) => void registrations.push(information),
    tokens: () => tokens,
    saveTokens: (granted) => void (tokens = granted),
    redirectToAuthorization: (url) => {
      sentTo = url;
      visits += 1;
    },
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier,
    saveDiscoveryState: (found) => void (discovered = found),
    discoveryState: () => discovered,
    invalidateCredentials: (what) => {
      if (what === "all" || what === "client") registrations.length = 0;
      if (what === "all" || what === "tokens") tokens = undefined;
      if (what === "all" || what === "discovery") discovered = undefined;
    },
  };
  return {
    provider,
    registrations,
    get visits() {
      return visits;
    },
    get scopeAsked() {
      return sentTo?.searchParams.get("scope");
    },
    get tokens() {
      return tokens;
    },
    keepTokens: (kept) => void (tokens = kept),
    visit: async () => {
      if (sentTo === undefined) throw new Error("the application has sent the person nowhere");
      const back = await signInHeadlessly({ authorizationUrl: sentTo, ...login });
      const answer = back.searchParams;
      if (answer.get("state") !== state) throw new Error("the answer is for another request");
      return answer;
    },
  };
}
