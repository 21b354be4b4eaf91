import { edit, Editable, EditOptions } from "../edit.js";
import type * as api from "../generated/logistics.js";
import { Http, path, RequestOptions, WriteOptions } from "../http.js";
import { List, PagingParameters } from "../paging.js";

/** A webhook of a service whose events are `Event`. */
export type Webhook<Event> = Omit<api.Webhook, "events"> & { events: Event[] };
/** A webhook to create. */
export type WebhookForm<Event> = Omit<api.WebhookForm, "events"> & { events: Event[] };
/** Changes of a webhook. */
export type WebhookPatch<Event> = Omit<api.WebhookPatch, "events"> & { events?: Event[] };
/** Which deliveries to list. */
export type DeliveryFilters<Event> = Omit<api.ListWebhookDeliveriesParameters, "event"> & { event?: Event };

/** Webhooks of one service (docs/api/webhooks.md). */
export class Webhooks<Event extends string> {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The webhooks of the caller's organisation, newest first. */
  list(paging: PagingParameters = {}, options?: RequestOptions): List<Webhook<Event>> {
    return new List(this.#http, "/v1/webhooks", paging, options);
  }

  /** Reads a webhook, without its secret. */
  get(id: string, options?: RequestOptions): Promise<Webhook<Event>> {
    return this.#http.json({ ...options, path: path`/v1/webhooks/${id}` });
  }

  /**
   * Registers a webhook. Store its `secret`, which only this response and that of `rotateSecret` contain. If it is
   * absent, the first response was lost and the request repeated: call `rotateSecret`.
   *
   * @throws ConflictError with reason `limit_reached` if the organisation has 20 webhooks.
   */
  create(webhook: WebhookForm<Event>, options?: WriteOptions): Promise<Webhook<Event>> {
    return this.#http.post("/v1/webhooks", webhook, options);
  }

  /** Changes a webhook by a merge patch. See `edit` of loads for conflicts. */
  edit(
    target: Editable,
    changes: WebhookPatch<Event>,
    options: EditOptions<WebhookPatch<Event>, Webhook<Event>> = {},
  ): Promise<Webhook<Event>> {
    return edit(this.#http, "/v1/webhooks", target, changes, options);
  }

  /** Deletes a webhook with its deliveries. */
  delete(id: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "DELETE", path: path`/v1/webhooks/${id}` });
  }

  /** Sends `webhook.test`, or a sample of another event. */
  test(id: string, event?: Event, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/webhooks/${id}/test`, event === undefined ? {} : { event }, options);
  }

  /**
   * Replaces the secret. The present one signs too for 24 hours. If `secret` is absent from the result, the response
   * was lost and repeated: rotate again, which ends the present secret.
   */
  rotateSecret(id: string, options?: WriteOptions): Promise<Webhook<Event>> {
    return this.#http.post(path`/v1/webhooks/${id}/rotate-secret`, undefined, options);
  }

  /** The deliveries of a webhook, newest first. */
  deliveries(
    id: string,
    filters: DeliveryFilters<Event> = {},
    options?: RequestOptions,
  ): List<api.WebhookDelivery> {
    return new List(this.#http, path`/v1/webhooks/${id}/deliveries`, filters, options);
  }

  /** Reads a delivery with its body and last attempts. */
  delivery(id: string, deliveryId: string, options?: RequestOptions): Promise<api.WebhookDeliveryDetails> {
    return this.#http.json({ ...options, path: path`/v1/webhooks/${id}/deliveries/${deliveryId}` });
  }

  /**
   * Delivers one delivery again, whatever its status.
   *
   * @throws ConflictError with reason `webhook_disabled` or `body_expired`.
   */
  redeliver(id: string, deliveryId: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`, undefined, options);
  }

  /** Delivers all failed deliveries of a period again, or with `status` the delivered ones. */
  redeliverAll(id: string, period: api.RedeliveryForm, options?: WriteOptions): Promise<api.RedeliveryResult> {
    return this.#http.post(path`/v1/webhooks/${id}/deliveries/redeliver`, period, options);
  }
}
