// Sells a load and a flock with the clients that typescript-fetch of openapi-generator has generated.

import * as livestock from "./livestock";
import * as logistics from "./logistics";
import * as system from "./system";

declare const process: { env: Record<string, string | undefined>; exitCode?: number };

const organisation = "border-grain";

/** Settings of a client. `SYSTEM` and so on are base URLs. */
function settings(service: string): { basePath: string; accessToken: string } {
  return { basePath: process.env[service] ?? "", accessToken: process.env.TOKEN ?? "" };
}

function expect(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

async function walk(): Promise<void> {
  const files = new system.FilesApi(new system.Configuration(settings("SYSTEM")));
  const ticket = await files.uploadFile({
    file: [new Blob(["ticket 4711"], { type: "text/plain" })],
    bucket: "files",
    name: "Weighbridge ticket",
    type: "weighbridge",
  });

  const loads = new logistics.LoadsApi(new logistics.Configuration(settings("LOGISTICS")));
  const created = await loads.createLoadAsOrganiser({
    organiserForm: {
      organiserId: organisation,
      organiserName: "Border Grain Merchants",
      commodityId: 1,
      reference: "BG-1001",
      deliveryDateISO: "2026-12-01",
      weight: 29.4,
      weightNet: null,
      files: [{ id: ticket.id }],
      tags: ["harvest"],
    },
  });
  expect(created.createdAtUTC instanceof Date, "createdAtUTC is no Date");
  expect(created.files[0]?.name === "Weighbridge ticket", `not the ticket: ${JSON.stringify(created.files)}`);
  const found = await loads.searchLoads({ query: "BG-1001", limit: 5 });
  expect(found.some((load) => load.id === created.id), "the load is not found");
  const edited = await loads.updateLoad({
    id: created.id,
    ifMatch: '"1"',
    loadPatch: { weight: 29, pickupPostcode: "HR4 9AR", ticketNumber: null },
  });
  expect(edited.weight?.weight === 29 && edited.pickupPostcode === "HR4 9AR", "the load is not edited");
  const stale = await loads.updateLoad({ id: created.id, ifMatch: '"1"', loadPatch: {} }).catch((error: unknown) => error);
  expect(stale instanceof logistics.ResponseError && stale.response.status === 412, "a stale revision is accepted");
  const proven = await loads.proveDeliveryOfLoad({
    id: created.id,
    proofOfDelivery: { weightNet: 29.1, ticketNumber: "4711", vehicleRegistration: "VX21 KLM", files: [] },
  });
  expect(proven.status === "completed" && proven.weightNet?.weight === 29.1, "the load is not completed");
  const corrected = await loads.correctProofOfDelivery({
    id: created.id,
    proofCorrection: { weightNet: 28.9, reason: "The ticket was misread" },
  });
  expect(corrected.weightNet?.weight === 28.9, "the proof is not corrected");
  const history = await loads.listLoadEvents({ id: created.id });
  const types = history.map((event) => event.type).join();
  expect(types === "created,updated,completed,corrected", `the history is ${types}`);
  expect(history[3]?.reason === "The ticket was misread", "the correction has no reason");
  expect(history[1]?.changes?.weight?.to === 29, "the edit has no changes");

  const mistaken = await loads.createLoadAsOrganiser({
    organiserForm: {
      organiserId: organisation,
      organiserName: "Border Grain Merchants",
      commodityId: 1,
      reference: "BG-1001-B",
      deliveryDateISO: "2026-12-01",
      weight: null,
      weightNet: null,
      files: null,
      tags: [],
    },
  });
  const cancelled = await loads.cancelLoad({ id: mistaken.id, cancelForm: { reason: "Entered twice" } });
  expect(cancelled.status === "cancelled", "the load is not cancelled");

  const listings = new livestock.ListingsApi(new livestock.Configuration(settings("LIVESTOCK")));
  const listed = await listings.createSheepListing({
    sheepForm: {
      type: "selling",
      isDraft: false,
      categoryIds: [],
      location: { address: { city: "Brecon", countryISO: "GB" }, coordinates: { lat: 51.9469, lon: -3.3915 } },
      price: { type: "fixed", pricePerUnit: { amount: 145, currency: "GBP" } },
      files: [],
      description: "Forty Texel ewes.",
      tags: [],
      properties: { breed: "Texel", quantity: 40 },
    },
  });
  const texels = await listings.searchListings({ fCommodityBreed: ["Texel"], latitude: 52, longitude: -3, distanceKm: 50 });
  expect(Array.isArray(texels) && texels.some((listing) => listing.id === listed.id), "the listing is not found");
  const facets = await listings.searchListings({ docs: false });
  expect(!Array.isArray(facets) && facets.total > 0, "there are no facets");
  await listings.closeListing({ id: listed.id ?? "", closeListing: { status: "sold" } });

  const refused = await loads.findLoad({ id: "no-such-load" }).catch((error: unknown) => error);
  expect(refused instanceof logistics.ResponseError && refused.response.status === 404, "an unknown load is found");
}

walk().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
