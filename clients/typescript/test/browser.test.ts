// In a browser, against running services: uploads by XMLHttpRequest, and what CORS lets a page read.
import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { TestServer } from "./server.js";

const { SYSTEM, LOGISTICS, LIVESTOCK, OWEN, CHROMIUM = "chromium-headless-shell" } = process.env;

const settings = { system: SYSTEM, logistics: LOGISTICS, livestock: LIVESTOCK, auth: OWEN };

const script = `
  import { Drover } from "/dist/index.js";
  const client = new Drover(${JSON.stringify(settings)});
  const result = {};
  try {
    const progress = [];
    const file = new File(["x".repeat(3_000_000)], "Ticket.txt");
    const fields = { bucket: "files", type: "misc", name: "Ticket" };
    const { id } = await client.files.upload(file, fields, { onProgress: (now) => progress.push(now) });
    result.bytes = (await (await client.files.download(id)).blob()).size;
    result.sent = progress.at(-1).sent;
    result.total = progress.at(-1).total;
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error("enough"));
    const upload = client.files.upload(file, fields, { onProgress, signal: controller.signal });
    result.aborted = await upload.catch((error) => error.message);
    const refused = client.files.upload(file, { ...fields, type: "unknown" }, { onProgress: () => undefined });
    result.refused = await refused.catch((error) => error.name + " " + error.validation[0].path);
    const loads = client.loads.search({ limit: 2 });
    const first = await loads.page({ count: true });
    result.ids = [...first.items, ...(await loads.page(first.next)).items].map(({ id }) => id);
    result.counted = first.total > 4;
    result.places = (await client.places.search({ query: "Brecon" })).results.length;
  } catch (error) {
    result.error = String(error);
  }
  await fetch("/result", { method: "POST", body: JSON.stringify(result) });
`;

void test("a page uploads, downloads and pages", async () => {
  let report: (result: string) => void;
  const reported = new Promise<string>((resolve) => (report = resolve));
  const server = await new TestServer(async ({ url, body }) => {
    if (url === "/result") report(body);
    if (url.startsWith("/dist/")) {
      const text = new TextDecoder().decode(await readFile(`.${url}`));
      return { text, headers: { "Content-Type": "text/javascript" } };
    }
    return { text: `<script type="module">${script}</script>`, headers: { "Content-Type": "text/html" } };
  }).start();
  const browser = spawn(CHROMIUM, ["--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", server.url], {
    stdio: "ignore",
  });
  try {
    const { ids, total, ...result } = JSON.parse(await reported) as { ids: string[]; total: number };
    assert.equal(new Set(ids).size, 4);
    assert.ok(total >= 3_000_000);
    assert.deepEqual(result, {
      bytes: 3_000_000,
      sent: total,
      aborted: "enough",
      refused: "ValidationError type",
      counted: true,
      places: (result as { places?: number }).places || "no places",
    });
  } finally {
    browser.kill();
    await server.stop();
  }
});
