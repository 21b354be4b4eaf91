import { Auth, TokenResponse, TokenSource } from "./auth.js";
import { filters as livestockFilters } from "./generated/livestock.js";
import { filters as logisticsFilters } from "./generated/logistics.js";
import { filters as systemFilters } from "./generated/system.js";
import { Call, Http, HttpSettings } from "./http.js";
import { Listings, SavedSearches } from "./resources/listings.js";
import { Drivers, Loads, Organisations } from "./resources/loads.js";
import { Files, Places, ServiceAccounts } from "./resources/system.js";

/** Where the services are, and how the client logs in. */
export interface DroverOptions extends HttpSettings {
  /** Base URL of the service, for example `https://drover.example/system`. */
  system: string;
  logistics: string;
  livestock: string;
  /** Without it, only places and public listings can be read. */
  auth?: Auth | undefined;
}

/** The name of a service. */
export type ServiceName = "system" | "logistics" | "livestock";

/** A client of the three services of Drover. */
export class Drover {
  readonly loads: Loads;
  readonly drivers: Drivers;
  readonly organisations: Organisations;
  readonly listings: Listings;
  readonly savedSearches: SavedSearches;
  readonly files: Files;
  readonly places: Places;
  readonly serviceAccounts: ServiceAccounts;
  readonly #services: Record<ServiceName, Http>;

  constructor({ system, logistics, livestock, auth, ...settings }: DroverOptions) {
    const tokens: TokenSource = new TokenSource(auth, (form) => {
      const body = Object.entries(form).map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
      const headers = { "Content-Type": "application/x-www-form-urlencoded" };
      const call: Call = { method: "POST", path: "/v1/token", body, headers, anonymous: true, repeatable: true };
      return this.#services.system.json<TokenResponse>(call);
    });
    this.#services = {
      system: new Http(system, systemFilters, tokens, settings),
      logistics: new Http(logistics, logisticsFilters, tokens, settings),
      livestock: new Http(livestock, livestockFilters, tokens, settings),
    };
    this.loads = new Loads(this.#services.logistics);
    this.drivers = new Drivers(this.#services.logistics);
    this.organisations = new Organisations(this.#services.logistics);
    this.listings = new Listings(this.#services.livestock);
    this.savedSearches = new SavedSearches(this.#services.livestock);
    this.files = new Files(this.#services.system);
    this.places = new Places(this.#services.system);
    this.serviceAccounts = new ServiceAccounts(this.#services.system);
  }

  /** Sends any request, for operations that have no method here, with the same log-in, retries and errors. */
  request<T>(service: ServiceName, call: Call): Promise<T> {
    return this.#services[service].json<T>(call);
  }
}
