// The day of an app against running services: `npm run test:live` with the variables of deploy/examples/env.sh.
import { Drover, type logistics } from "drover";
import { expect, losingFetch, photograph, receiver } from "./surroundings.js";

const { SYSTEM = "", LOGISTICS = "", LIVESTOCK = "", CARYS = "", GWEN = "" } = process.env;
const settings = { system: SYSTEM, logistics: LOGISTICS, livestock: LIVESTOCK, auth: () => CARYS };
const app = new Drover(settings);
const run = `day-${Date.now()}`;
let stored = await app.loads.eventsCursor();

const photos = await Promise.all(["heifers.jpg", "weighbridge-ticket.jpg"].map(photograph));
const first = await app.files.upload(photos, { bucket: "images", type: "image", name: "Heifers.jpg" });
const files = [first, ...first.additional].map(({ id }) => ({ id }));
expect(files.length === 2, "Two photographs were uploaded");

const about = { description: `Six heifers, ${run}`, tags: [run], categoryIds: [] };
const price = { type: "fixed" as const, pricePerUnit: { amount: 1195, currency: "GBP" } };
const location = { address: { city: "Brecon", postcode: "LD3 7HR", countryISO: "GB" } };
const properties = { breed: "Hereford", sexes: "heifers", quantity: 6 };
const offer = { type: "selling" as const, isDraft: false, ...about };
await app.listings.create("cattle", { ...offer, price, location, files, properties });
const { total, filters } = await app.listings.facets({ query: run });
expect(total === 1 && filters["f:commodityBreed"]?.[0]?.value === "Hereford", "The facets count the listing");

const connection = losingFetch();
const party = { organiserId: "penybont-farm", deliveryDateISO: "2026-12-01" };
const grain = { ...party, commodityId: 1, weight: 28.5, weightNet: null, files: null, tags: [run] };
const form = (n: number) => ({ ...grain, reference: `${run}-${n}` });
const load = await new Drover({ ...settings, fetch: connection }).loads.createAsOrganiser(form(1));
for (const n of [2, 3]) await app.loads.createAsOrganiser(form(n));
const loads = app.loads.search({ tag: run, limit: 2 });
expect(connection.requests === 2, "A request was repeated after its response was lost");
expect((await loads.all()).length === 3, "The repeat created no second load: two pages have three");
expect((await loads.page({ count: true })).total === 3, "A page counted all matches");

const { url, first: firstRequest } = await receiver();
const webhook = await app.loads.webhooks.create({ url, events: ["load.updated"] });
await new Drover({ ...settings, auth: GWEN }).loads.edit(load, { tags: [run, "Gwen"] });
const merge = (mine: logistics.LoadPatch, theirs: logistics.Load) => ({
  tags: [...new Set([...theirs.tags, ...(mine.tags ?? [])])],
});
const merged = await app.loads.edit(load, { tags: [run, "Carys"] }, { merge });
expect(merged.tags.join() === `${run},Gwen,Carys`, "An edit met Gwen's, and both were kept");
const message = await firstRequest(webhook.secret ?? "");
expect(message.type === "load.updated" && message.data.load.id === load.id, "The webhook was received and verified");
await app.loads.webhooks.delete(webhook.id);

const events: string[] = [];
while (events.length < 5) {
  const restarted = new Drover(settings);
  for await (const event of restarted.loads.events({ after: stored, signal: AbortSignal.timeout(60_000) })) {
    stored = event.cursor;
    if (event.reference?.startsWith(run)) events.push(`${event.type} ${event.reference.slice(-1)}`);
    break;
  }
}
const expected = [1, 2, 3].map((n) => `load.created ${n}`).join() + ",load.updated 1,load.updated 1";
expect(events.join() === expected, "The feed went on from stored cursors");
