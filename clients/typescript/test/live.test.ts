// Against running services with demo data: needs the variables of deploy/examples/env.sh.
import * as assert from "node:assert/strict";
import { test } from "node:test";
import { ConflictError, Drover, ForbiddenError, NotFoundError, UnauthenticatedError, ValidationError } from "drover";

const { SYSTEM = "", LOGISTICS = "", LIVESTOCK = "" } = process.env;
const services = { system: SYSTEM, logistics: LOGISTICS, livestock: LIVESTOCK };
const as = (person: string): Drover => new Drover({ ...services, auth: process.env[person] });
const [carys, owen, ruth, tom, dai] = [as("CARYS"), as("OWEN"), as("RUTH"), as("TOM"), as("DAI")];
const run = `ts-${Date.now()}`;

const csv = (rows: string[]): File =>
  new File([["reference,deliveryDateISO,commodityName,weight", ...rows].join("\r\n")], "loads.csv");
const load = {
  organiserId: "border-grain",
  commodityId: 1,
  deliveryDateISO: "2026-12-01",
  weight: 29,
  weightNet: null,
  files: null,
  tags: [run],
};

void test("places need no token", async () => {
  const { places } = new Drover(services);
  const { results } = await places.search({ query: "Brecon", limit: 3 });
  assert.ok(results[0]?.text.includes("Brecon"));
  const location = await places.byCoordinates({ lat: 51.9469, lon: -3.3915 });
  assert.equal(location.address.countryISO, "GB");
  assert.equal((await places.byThreeWords(location.threeWords)).threeWords, location.threeWords);
  assert.equal((await places.countries({ enabled: true })).GB?.enabled, "true");
  assert.ok((await places.regions()).regions.length > 100);
  await assert.rejects(new Drover(services).loads.get("x"), (error) => error instanceof UnauthenticatedError);
});

void test("a load from field to weighbridge", async () => {
  const created = await owen.loads.createAsOrganiser({ ...load, reference: `${run}-1` });
  const { id } = created;
  await owen.loads.sendToCarrier({ loadId: id, carrierId: "hereford-haulage", carrierName: "Hereford Haulage" });
  await ruth.loads.sendToDriver({ loadId: id, driverId: "dai" });
  assert.equal((await dai.loads.search({ driverId: "me", query: run }).page()).items[0]?.id, id);
  assert.equal((await ruth.loads.drivers(id).all())[0]?.driverId, "dai");
  assert.ok((await ruth.drivers.list().all()).some(({ driverId }) => driverId === "dai"));
  await dai.loads.collect(id, { weightNet: 28.9, quality: [{ measure: "moisture", value: 14.5 }] });
  const proof = { weightNet: 28.8, ticketNumber: "4711", vehicleRegistration: "VX21 ABC", files: [] };
  const proven = await dai.loads.prove(id, proof);
  assert.equal(proven.status, "completed");
  await assert.rejects(owen.loads.cancel(id, "Too late"), (error) => {
    return error instanceof ConflictError && error.reason === "load_completed";
  });
  await ruth.loads.correct(id, { weightNet: 28.7, reason: "The ticket was misread" });
  await ruth.loads.note(id, "Wet lane");
  const history = await owen.loads.history(id, { type: ["collected", "completed", "corrected", "noted"] }).all();
  assert.deepEqual(history.map(({ type }) => type), ["collected", "completed", "corrected", "noted"]);
  const text = await (await owen.loads.exportCompleted()).text();
  assert.ok(text.includes(`${run}-1`));
  const sums = await owen.loads.summary({ groupBy: "status", query: run });
  assert.deepEqual([sums.total.count, sums.groups?.[0]?.key], [1, "completed"]);
  assert.equal((await owen.loads.byIds([id]))[0]?.weightNet?.weight, 28.7);
  const notifications = await owen.loads.notifications({ loadId: id }).all();
  assert.ok(notifications.length > 0);
  await assert.rejects(tom.loads.get(id), (error) => error instanceof ForbiddenError);
});

void test("many loads at once", async () => {
  const forms = [1, 2].map((n) => ({ ...load, reference: `${run}-m${n}` }));
  const loads = await Promise.all(forms.map((form) => owen.loads.createAsOrganiser(form)));
  const result = await owen.loads.changeMany({ action: "cancel", ids: loads.map(({ id }) => id), reason: "Rain" });
  assert.deepEqual([result.done, result.failed], [2, 0]);
  const { id } = await owen.loads.reopen(loads[0]?.id ?? "", "Sun");
  await owen.loads.reject(id, { reason: "late", note: null, files: null, quality: null, capturedAtUTC: null });
  assert.equal((await owen.loads.get(id)).rejection?.reason, "late");
});

void test("a sheet is checked, mended, imported and undone", async () => {
  const sheet = csv([`${run}-b1,01/03/2026,Milling Wheat,28.5`, `${run}-b2,13/03/2026,Miling Weat,29`]);
  const dry = owen.loads.batches.import(sheet, { dryRun: true, dateOrder: "auto" });
  const refused = await dry.catch((error: unknown) => error);
  assert.ok(refused instanceof ValidationError);
  assert.equal(refused.validation[0]?.path, "rows[1].commodityName");
  assert.ok(refused.body.recognised);
  const problems = await owen.loads.batches.problems(sheet, { dateOrder: "auto", format: "CSV" });
  assert.ok((await problems.text()).startsWith("Problems,"));
  const corrections = [{ row: 1, column: "commodityName", value: "Milling Wheat" }];
  const imported = await owen.loads.batches.import(sheet, { dateOrder: "auto", corrections });
  assert.equal(imported.count, 2);
  await assert.rejects(owen.loads.batches.import(sheet, { dateOrder: "auto", corrections }), (error) => {
    return error instanceof ConflictError && error.reason === "imported_before";
  });
  const exported = await owen.loads.export({ batchId: imported.batchId, format: "CSV" });
  let bytes = 0;
  for (const reader = exported.body!.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += (value as Uint8Array).length;
  }
  assert.ok(bytes > 200);
  // Others may have imported since.
  const { items: batches } = await owen.loads.batches.list().page();
  assert.ok(batches.some(({ id }) => id === imported.batchId));
  assert.equal((await owen.loads.batches.undo(imported.batchId ?? "", "Wrong sheet")).count, 2);
  assert.ok((await owen.loads.batches.template({ format: "XLSX" })).headers.get("content-type")?.includes("sheet"));
});

void test("files are uploaded, shared, linked and archived", async () => {
  const progress: number[] = [];
  const content = new File(["ticket 4711"], "Ticket.txt");
  const file = await ruth.files.upload(content, { bucket: "files", name: run, type: "misc" }, {
    onProgress: ({ sent }) => progress.push(sent),
  });
  assert.ok(progress.length > 0);
  assert.equal((await ruth.files.list({ query: run }).all())[0]?.id, file.id);
  await assert.rejects(owen.files.download(file.id), (error) => error instanceof ForbiddenError);
  await ruth.files.resolve({ ids: [file.id], shareWith: ["border-grain"] });
  assert.equal(await (await owen.files.download(file.id)).text(), "ticket 4711");
  const link = await ruth.files.link(file.id, { expiresInSeconds: 600 });
  assert.equal(await (await fetch(link.url)).text(), "ticket 4711");
  assert.equal((await ruth.files.links({ ids: [file.id] }))[0]?.id, file.id);
  assert.ok((await ruth.files.usage()).bytes > 0);
  await ruth.files.archive(file.id);
  assert.equal((await ruth.files.get(file.id)).status, "archived");
  await assert.rejects(ruth.files.download(file.id), (error) => error instanceof NotFoundError);
});

void test("a listing from draft to sale", async () => {
  const { id = "" } = await carys.listings.create("sheep", {
    type: "selling",
    isDraft: true,
    categoryIds: [],
    location: { address: { city: "Brecon", postcode: "LD3 7EG", countryISO: "GB" } },
    price: { type: "poa" },
    files: null,
    description: `Ten ewes, ${run}`,
    tags: [run],
    properties: { breed: "Texel", quantity: 10 },
  });
  await assert.rejects(tom.listings.get(id), (error) => error instanceof ForbiddenError);
  const search = await tom.savedSearches.create({
    name: run,
    parameters: { query: run, "f:commodityType": "sheep" },
    notify: false,
  });
  await carys.listings.publish(id);
  const edited = await carys.listings.edit(id, { description: `Twelve ewes, ${run}`, properties: { quantity: 12 } });
  assert.equal(edited.properties?.quantity, 12);
  assert.equal((await tom.listings.search({ query: run, near: "LD3 7EG", distanceKm: 5 }).all())[0]?.id, id);
  assert.equal((await tom.listings.facets({ query: run })).filters["f:commodityType"]?.[0]?.value, "sheep");
  assert.equal((await tom.listings.map({ query: run })).features[0]?.id, id);
  assert.ok((await (await tom.listings.export({ query: run, format: "CSV" })).text()).includes("Twelve ewes"));
  assert.equal((await tom.savedSearches.listings(search.id).all())[0]?.id, id);
  const renamed = await tom.savedSearches.edit(search.id, { name: `${run} renamed` });
  assert.equal((await tom.savedSearches.get(search.id)).name, renamed.name);
  await tom.savedSearches.delete(search.id);
  await tom.listings.addToWishlist(id);
  assert.ok((await tom.listings.byIds([id]))[0]?.isWishlisted);
  await tom.listings.removeFromWishlist(id);
  await tom.listings.enquire(id, { message: "Still there?", name: "Tom", email: "tom@example.com" });
  const [enquiry] = await carys.listings.enquiries({ listingId: id }).all();
  await carys.listings.markEnquiryAnswered(enquiry?.id ?? "");
  assert.equal((await tom.listings.enquiries({ scope: "sent", listingId: id }).all())[0]?.status, "answered");
  const history = await carys.listings.history(id).all();
  assert.ok(history.length >= 3);
  await carys.listings.close(id, "sold");
  const categories = await carys.listings.categories();
  assert.ok(categories.some(({ name }) => name === "sheep"));
});

void test("listings of the market are followed", async () => {
  const after = await tom.listings.eventsCursor();
  const signal = AbortSignal.timeout(30_000);
  const events = tom.listings.events({ after, scope: "market", include: "resource", signal });
  const next = (async () => {
    for await (const event of events) if (event.listing?.tags.includes(`${run}-market`)) return event;
    return undefined;
  })();
  await carys.listings.create("feed", {
    type: "selling",
    isDraft: false,
    categoryIds: [],
    location: null,
    price: { type: "poa" },
    files: null,
    description: "Haylage",
    tags: [`${run}-market`],
  });
  assert.equal((await next)?.type, "listing.published");
});

void test("webhooks are managed", async () => {
  const { webhooks } = owen.loads;
  const webhook = await webhooks.create({ url: "http://127.0.0.1:9/", events: ["load.created"], description: run });
  try {
    assert.ok(webhook.secret?.startsWith("whsec_"));
    assert.equal((await webhooks.get(webhook.id)).secret, undefined);
    assert.notEqual((await webhooks.rotateSecret(webhook.id)).secret, webhook.secret);
    await webhooks.edit(webhook.id, { events: ["load.created", "load.updated"] });
    await webhooks.test(webhook.id, "load.updated");
    const [delivery] = await webhooks.deliveries(webhook.id).all();
    assert.ok((await webhooks.delivery(webhook.id, delivery?.id ?? "")).body);
    assert.ok((await webhooks.list().all()).some(({ id }) => id === webhook.id));
  } finally {
    await webhooks.delete(webhook.id);
  }
  await assert.rejects(webhooks.get(webhook.id), (error) => error instanceof NotFoundError);
});

void test("a service account logs in", async () => {
  const account = await owen.serviceAccounts.create({ name: run, roles: ["weighbridge"] });
  try {
    const auth = { clientId: account.clientId, clientSecret: account.clientSecret ?? "" };
    const bridge = new Drover({ ...services, auth });
    await bridge.loads.search().page({ limit: 1 });
    await assert.rejects(bridge.savedSearches.list().all(), (error) => error instanceof ForbiddenError);
    await owen.serviceAccounts.edit(account.id, { name: `${run} bridge` });
    const rotated = await owen.serviceAccounts.rotateSecret(account.id);
    assert.notEqual(rotated.clientSecret, account.clientSecret);
  } finally {
    await owen.serviceAccounts.delete(account.id);
  }
  const bridge = new Drover({ ...services, auth: { clientId: account.clientId, clientSecret: "wrong" } });
  await assert.rejects(bridge.loads.search().page(), (error) => error instanceof UnauthenticatedError);
});

void test("organisations are blocked, and operations without a method are reached", async () => {
  await owen.organisations.block("somewhere-else");
  assert.ok((await owen.organisations.list({ blocked: "true" }).all()).some(({ id }) => id === "somewhere-else"));
  await owen.organisations.unblock("somewhere-else");
  const admin = as("ANNA");
  const settings = await admin.request<{ logging: { level: string } }>("logistics", { path: "/v1/settings" });
  assert.ok(settings.logging.level);
});
