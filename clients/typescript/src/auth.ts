import { abortable } from "./wait.js";

/**
 * How requests are authorized: a token; a function that returns one for each request, and so may keep it (`rejected` is
 * the token that a service has just refused); or a service account, whose tokens the client gets and renews.
 */
export type Auth =
  | string
  | ((context: { rejected?: string }) => string | Promise<string>)
  | { clientId: string; clientSecret: string };

/** The response of `POST /v1/token`. */
export interface TokenResponse {
  access_token: string;
  /** In seconds. */
  expires_in: number;
}

/** A token is renewed when less than this time is left, or a tenth of its life. */
const RENEW_BEFORE_MS = 60_000;

/** Supplies tokens. Requests that need a new one at the same time share it. */
export class TokenSource {
  readonly #auth: Auth | undefined;
  readonly #requestToken: (form: Record<string, string>) => Promise<TokenResponse>;
  #kept: { token: string; renewAt: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(auth: Auth | undefined, requestToken: (form: Record<string, string>) => Promise<TokenResponse>) {
    this.#auth = auth;
    this.#requestToken = requestToken;
  }

  /** Whether another token can be had after a service has refused one. */
  get canRenew(): boolean {
    return this.#auth !== undefined && typeof this.#auth !== "string";
  }

  /** Returns a token other than `rejected`, or `undefined` if the client has no log-in. */
  async token(rejected: string | undefined, signal: AbortSignal | undefined): Promise<string | undefined> {
    const auth = this.#auth;
    if (auth === undefined || typeof auth === "string") return auth;
    if (typeof auth === "function") {
      return abortable(Promise.resolve(auth(rejected === undefined ? {} : { rejected })), signal);
    }
    const kept = this.#kept;
    if (kept && kept.token !== rejected && Date.now() < kept.renewAt) return kept.token;
    this.#pending ??= this.#request(auth).finally(() => {
      this.#pending = undefined;
    });
    return abortable(this.#pending, signal);
  }

  async #request({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<string> {
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
    const answer = await this.#requestToken(form);
    const life = answer.expires_in * 1000;
    this.#kept = { token: answer.access_token, renewAt: Date.now() + life - Math.min(RENEW_BEFORE_MS, life / 10) };
    return answer.access_token;
  }
}
