import { PreconditionFailedError } from "./errors.js";
import { Http, path, RequestOptions } from "./http.js";

/** Options of an edit. `Changes` is the type of the changes, and `Resource` that of what is edited. */
export interface EditOptions<Changes, Resource> extends RequestOptions {
  /**
   * Decides what to send when somebody else changed the resource first. Receives the changes that were not made and the
   * resource as it is now; returns the changes to make to it, or `undefined` to give up.
   */
  merge?: (mine: Changes, theirs: Resource) => Changes | undefined | Promise<Changes | undefined>;
}

/** What is edited: an id, or the resource as it was when the person decided what to change. */
export type Editable = string | { id: string; revision: number };

const MAX_MERGES = 10;

/**
 * Sends changes of a resource of a collection, for example `/v1/loads`, with the revision that they are based on: that
 * of `target`, or for an id the present one.
 *
 * @throws PreconditionFailedError with `mine` and `theirs` if there is no `merge`, if it gives up, or if the resource
 * changes more often than it can be merged.
 */
export async function edit<Changes, Resource extends { revision: number }>(
  http: Http,
  collection: string,
  target: Editable,
  changes: Changes,
  options: EditOptions<Changes, Resource>,
): Promise<Resource> {
  const id = typeof target === "string" ? target : target.id;
  const call = { path: collection + path`/${id}`, signal: options.signal };
  let revision = typeof target === "string" ? (await http.json<Resource>(call)).revision : target.revision;
  for (let merges = 0; ; merges += 1) {
    try {
      return await http.json({ ...call, method: "PATCH", json: changes, revision });
    } catch (error) {
      if (!(error instanceof PreconditionFailedError)) throw error;
      error.mine = changes;
      const theirs = await http.json<Resource>(call);
      error.theirs = theirs;
      const merged = merges < MAX_MERGES ? await options.merge?.(changes, theirs) : undefined;
      if (merged === undefined) throw error;
      changes = merged;
      revision = theirs.revision;
    }
  }
}
