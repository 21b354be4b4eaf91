"""The client against running services with demo data; skipped where `SYSTEM` and the others are not set."""

import asyncio
import io
import os
import time
import unittest
import zipfile
from datetime import date, datetime, timezone
from unittest import mock

from drover import AsyncDrover, ClientCredentials, Drover, Retry, errors
from drover.models.livestock import (
    CattleForm,
    CattleProperties,
    Coordinates,
    FileReference,
    ListingPatch,
    Money,
    NewLocation,
    Price,
    SavedSearchPatch,
    SendEnquiry,
)
from drover.models.logistics import (
    CarrierForm,
    CollectionForm,
    LoadActions,
    LoadPatch,
    NewQuality,
    OrganiserForm,
    ProofCorrection,
    ProofOfDelivery,
    RejectionForm,
    WebhookPatch,
)
from drover.models.system import ResolveFiles, ServiceAccountPatch

RUN = f"py{time.time_ns()}"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000"
    "000301010018dd8db00000000049454e44ae426082"
)


SERVICES = ("SYSTEM", "LOGISTICS", "LIVESTOCK")


def client(user: str | ClientCredentials | None) -> Drover:
    system, logistics, livestock = (os.environ[service] for service in SERVICES)
    auth = os.environ[user] if isinstance(user, str) else user
    return Drover(system=system, logistics=logistics, livestock=livestock, auth=auth)


def order(reference: str) -> OrganiserForm:
    return OrganiserForm(
        organiser_id="border-grain",
        organiser_name="Border Grain Merchants",
        commodity_id=1,
        reference=reference,
        delivery_date_iso=date.today().isoformat(),
        weight=29.4,
        weight_net=None,
        files=None,
        tags=["harvest"],
    )


@unittest.skipUnless(
    "SYSTEM" in os.environ, "there are no services: set SYSTEM, LOGISTICS, LIVESTOCK and tokens"
)
class Live(unittest.TestCase):
    def setUp(self) -> None:
        self.owen = client("OWEN")  # a grain merchant
        self.ruth = client("RUTH")  # a haulier
        self.carys = client("CARYS")  # sells livestock
        self.tom = client("TOM")  # buys livestock
        for opened in (self.owen, self.ruth, self.carys, self.tom):
            self.addCleanup(opened.close)

    def test_a_load_from_field_to_weighbridge(self) -> None:
        loads = self.owen.loads
        load = loads.create(order(f"{RUN}-1"))
        self.assertEqual(load.commodity.name, "Feed Wheat")
        edited = loads.edit(load, LoadPatch(weight=28, pickup_postcode="HR4 9AR"))
        self.assertEqual(edited.revision, load.revision + 1)
        with self.assertRaises(errors.PreconditionFailed) as stale:
            loads.edit(load, LoadPatch(weight=27))
        self.assertEqual(stale.exception.revision, edited.revision)
        merged = loads.edit(load, LoadPatch(tags=["wet"]), merge=lambda mine, theirs: mine)
        self.assertEqual((merged.tags, merged.pickup_postcode), (["wet"], "HR4 9AR"))
        self.assertIsNone(loads.edit(merged, LoadPatch(pickup_postcode=None)).pickup_postcode)

        loads.send_to_carrier(load.id, "hereford-haulage")
        self.assertEqual(self.ruth.loads.send_to_driver(load.id, "dai").status, "success")
        self.assertEqual([driver.driver_id for driver in self.ruth.loads.drivers(load.id)], ["dai"])
        self.ruth.loads.revoke_driver(load.id, "dai")
        quality = [NewQuality(measure="moisture", value=14.5)]
        collected = self.ruth.loads.collect(load.id, CollectionForm(weight_net=28.1, quality=quality))
        self.assertEqual(collected.status, "collected")
        with self.assertRaises(errors.Conflict) as conflict:
            loads.cancel(load.id)
        self.assertEqual(conflict.exception.reason, "load_collected")
        note = self.ruth.loads.add_note(load.id, "Muddy track")
        proof = ProofOfDelivery(
            weight_net=28.1, ticket_number="4711", vehicle_registration="VX21 KLM", files=[]
        )
        self.assertEqual(self.ruth.loads.prove(load.id, proof).status, "completed")
        loads.correct(load.id, ProofCorrection(weight_net=28.0, reason="Misread"))
        history = list(loads.history(load.id))
        self.assertEqual([event.id for event in history if event.type == "noted"], [note.id])
        self.assertEqual([event.id for event in loads.history(load.id, ["noted"])], [note.id])
        self.assertIn("corrected", [event.type for event in history])
        self.assertEqual([load.id for load in loads.by_ids([load.id, RUN])], [load.id])
        self.assertIn(load.id, [entry.load_id for entry in self.ruth.loads.notifications(load.id)])
        self.assertIn("dai", [driver.driver_id for driver in self.ruth.address_book.drivers("dai")])

        sheet = io.BytesIO()
        loads.export_completed(sheet, start_date=date.today(), bom=True)
        self.assertIn(f"{RUN}-1", sheet.getvalue().decode("utf-8-sig"))

    def test_the_carrier_enters_and_the_recipient_rejects(self) -> None:
        form = CarrierForm.model_validate(
            {
                **{"carrierId": "hereford-haulage", "carrierName": "Hereford Haulage", "commodityId": 1},
                **{"organisationId": "border-grain", "organisationName": "Border Grain Merchants"},
                **{"reference": f"{RUN}-c", "deliveryDateISO": "2026-03-01", "weight": None, "tags": []},
            }
        )
        load = self.ruth.loads.create(form)
        self.assertIn(
            load.id, [found.id for found in self.owen.loads.search(awaits_acceptance=True, query=RUN)]
        )
        self.owen.loads.accept(load.id)
        rejected = self.ruth.loads.reject(load.id, RejectionForm(reason="quality"))
        self.assertEqual(rejected.status, "rejected")
        self.assertEqual(self.owen.loads.reopen(load.id, "Dried since").status, "upcoming")
        self.assertEqual(self.owen.loads.cancel(load.id, "Too late").status, "cancelled")

    def test_a_sheet(self) -> None:
        batches = self.owen.loads.batches
        rows = [f"{RUN}-b{number};2026-12-02;Milling Wheat;28" for number in range(3)]
        sheet = "\n".join(["Reference;deliveryDateISO;commodityName;weight", *rows]).encode()
        seen: list[int] = []
        dry = batches.import_file(
            sheet, name="loads.csv", dry_run=True, progress=lambda done, _: seen.append(done)
        )
        self.assertEqual((dry.count, dry.ids, seen[-1]), (3, [], len(sheet)))
        imported = batches.import_file(sheet, name="loads.csv")
        self.assertEqual(imported.count, 3)
        with self.assertRaises(errors.Conflict) as again:
            batches.import_file(sheet, name="loads.csv")
        self.assertEqual(again.exception.reason, "imported_before")
        with self.assertRaises(errors.ValidationFailed) as wrong:
            batches.import_file(sheet.replace(b";28", b";heavy"), name="loads.csv")
        self.assertEqual(
            [entry.path for entry in wrong.exception.validation], [f"rows[{n}].weight" for n in range(3)]
        )
        mended = batches.import_file(
            sheet.replace(b"weight", b"Tonnage"),
            name="loads.csv",
            if_exists="update",
            headings={"Tonnage": "weight"},
            corrections=[{"row": 0, "column": "weight", "value": "27.5"}],
        )
        self.assertEqual((mended.count, mended.updated), (0, 1))
        problems, template = io.BytesIO(), io.BytesIO()
        batches.problems(sheet.replace(b";28", b";heavy"), problems, "CSV", name="loads.csv")
        self.assertIn(b"Problems", problems.getvalue())
        batches.template(template)
        self.assertTrue(zipfile.is_zipfile(template))

        search = self.owen.loads.search(batch_id=imported.batch_id or "", sort_by="reference")
        page = search.page(limit=2, count=True)
        self.assertEqual((page.total, len(page.items)), (3, 2))
        rest = search.page(page)
        self.assertEqual([load.reference[-1] for load in page.items + rest.items], ["0", "1", "2"])
        self.assertEqual(search.page(rest).items, [])
        self.assertEqual(len(list(search)), 3)
        workbook = io.BytesIO()
        self.assertEqual(search.export(workbook, "XLSX"), len(workbook.getvalue()))
        self.assertTrue(zipfile.is_zipfile(workbook))
        sums = self.owen.loads.summary("commodity", batch_id=imported.batch_id or "")
        self.assertEqual((sums.total.count, sums.total.weight), (3, 83.5))
        done = self.owen.loads.change_many(LoadActions(action="cancel", ids=imported.ids[:1]))
        self.assertEqual(done.done, 1)
        undone = batches.undo(imported.batch_id or "", "A trial")
        self.assertEqual(undone.count, 2)
        self.assertIn(imported.batch_id, [batch.id for batch in batches.list().page().items])

    def test_livestock(self) -> None:
        photo = self.carys.files.upload(PIXEL, "image", bucket="images", name=f"Heifer {RUN}")
        listings = self.carys.listings
        form = CattleForm(
            type="selling",
            is_draft=True,
            category_ids=[],
            location=NewLocation(coordinates=Coordinates(lat=51.9469, lon=-3.3915)),
            price=Price(type="fixed", price_per_unit=Money(amount=1450, currency="GBP")),
            files=[FileReference(id=photo.id)],
            description=f"Twelve heifers {RUN}",
            tags=[RUN],
            properties=CattleProperties(breed="Hereford", quantity=12, sexes="heifers"),
        )
        draft = listings.create(form)
        self.assertEqual([row.id for row in listings.search(status="draft", query=RUN)], [draft.id])
        listings.publish(draft.id)
        listing = listings.edit(draft.id, ListingPatch(description=f"Eleven heifers {RUN}"))
        self.assertEqual(listing.properties and listing.properties.breed, "Hereford")
        found = self.tom.listings.search(query=RUN, latitude=52, longitude=-3.4, distance_km=20)
        self.assertEqual([row.id for row in found], [listing.id])
        facets = self.tom.listings.facets(query=RUN, near="LD3 7EG", distance_km=30)
        self.assertEqual(facets.total, 1)
        self.assertEqual([facet.value for facet in facets.filters["f:commodityBreed"]], ["Hereford"])
        self.assertEqual(
            self.tom.listings.map(query=RUN).features[0].geometry.coordinates, [-3.3915, 51.9469]
        )
        found = self.tom.listings.search(query=RUN, bbox=(-4, 51, -3, 52))
        self.assertEqual([row.id for row in found], [listing.id])
        self.tom.listings.add_to_wishlist(listing.id)
        self.assertIn(listing.id, [row.id for row in self.tom.listings.search(is_wishlisted=True)])
        self.tom.listings.remove_from_wishlist(listing.id)
        # A user can enquire 20 times a day, so that each run needs another one.
        account = self.tom.service_accounts.create(f"buyer {RUN}")
        self.addCleanup(self.tom.service_accounts.delete, account.id)
        with client(ClientCredentials(account.client_id, account.client_secret or "")) as buyer:
            question = SendEnquiry(message="Are they quiet?", name="Tom", phone="01432 123456")
            enquiry = buyer.listings.enquire(listing.id, question)
            sent = buyer.listings.enquiries(scope="sent", listing_id=listing.id)
            self.assertEqual([row.id for row in sent], [enquiry.id])
        listings.mark_answered(enquiry.id)
        self.assertEqual([row.status for row in listings.enquiries(listing_id=listing.id)], ["answered"])
        self.tom.listings.report(listing.id, "other", "A trial")
        listings.close(listing.id, "sold")
        self.assertIn("closed", [event.type for event in listings.history(listing.id)])
        self.assertEqual([row.status for row in self.tom.listings.by_ids([listing.id])], ["sold"])
        self.assertTrue(listings.categories())

    def test_saved_searches(self) -> None:
        searches = self.tom.saved_searches
        saved = searches.create(f"Near {RUN}", breed=["Hereford", "Angus"], near="LD3 7EG", distance_km=50)
        self.assertEqual(saved.parameters["f:commodityBreed"], ["Hereford", "Angus"])
        saved = searches.edit(saved, SavedSearchPatch(parameters={"distanceKm": "60"}))
        self.assertEqual(saved.parameters["distanceKm"], "60")
        same = self.tom.listings.search(breed=["Hereford", "Angus"], near="LD3 7EG", distance_km=60)
        self.assertEqual([row.id for row in searches.listings(saved.id)], [row.id for row in same])
        self.assertIn(saved.id, [row.id for row in searches.list()])
        searches.delete(saved.id, revision=searches.get(saved.id).revision)
        with self.assertRaises(errors.NotFound):
            searches.get(saved.id)

    def test_files(self) -> None:
        files = self.owen.files
        content = os.urandom(300_000)
        seen: list[int] = []
        ticket = files.upload(
            io.BytesIO(content), "weighbridge", name=f"{RUN}.bin", progress=lambda n, _: seen.append(n)
        )
        self.assertEqual(seen[-1], len(content))
        copy, parts = io.BytesIO(), []
        files.download(ticket.id, copy, progress=lambda done, total: parts.append((done, total)))
        self.assertEqual(copy.getvalue(), content)
        self.assertEqual(parts[-1], (len(content), len(content)))
        with self.assertRaises(errors.Forbidden):
            self.tom.files.get(ticket.id)
        files.resolve(ResolveFiles(ids=[ticket.id], share_with=["wye-valley-farm"]))
        self.assertEqual(self.tom.files.get(ticket.id).name, f"{RUN}.bin")
        self.assertIn(ticket.id, files.link(ticket.id, expires_in=600).url)
        self.assertEqual([link.id for link in files.links([ticket.id])], [ticket.id])
        self.assertEqual([row.id for row in files.list(query=RUN)], [ticket.id])
        self.assertGreaterEqual(files.usage().bytes, len(content))
        files.archive(ticket.id)
        with self.assertRaises(errors.NotFound):
            files.download(ticket.id, io.BytesIO())

    def test_places(self) -> None:
        with client(None) as visitor:
            place = visitor.places.search("Hereford", country="GB").results[0]
            location = visitor.places.address(place.id, place.source)
            self.assertEqual(visitor.places.words(location.three_words).three_words, location.three_words)
            self.assertEqual(visitor.places.at(51.9469, -3.3915).address.country_iso, "GB")
            self.assertEqual(visitor.places.search("hr49ar").results[0].text, "HR4 9AR")
            self.assertEqual(visitor.places.countries(enabled=True)["IE"].name, "Ireland")
            self.assertIn("GB-HEF", [region.iso for region in visitor.places.regions().regions])
            with self.assertRaises(errors.Unauthenticated):
                visitor.loads.search().page()

    def test_webhooks(self) -> None:
        hooks = self.owen.loads.webhooks
        hook = hooks.create("http://127.0.0.1:9/", ["load.created"], description=RUN)
        self.assertTrue(hook.secret)
        hook = hooks.edit(hook, WebhookPatch(description=f"{RUN} edited"))
        self.assertIsNone(hooks.get(hook.id).secret)
        self.assertTrue(hooks.rotate_secret(hook.id).secret)
        hooks.test(hook.id, "load.created")
        deliveries = list(hooks.deliveries(hook.id))
        self.assertEqual(len(deliveries), 1)
        self.assertEqual(hooks.delivery(hook.id, deliveries[0].id).id, deliveries[0].id)
        hooks.redeliver(hook.id, deliveries[0].id)
        hooks.redeliver_since(hook.id, datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.assertIn(hook.id, [row.id for row in hooks.list()])
        hooks.delete(hook.id)

    def test_a_program_logs_in_by_itself(self) -> None:
        accounts = self.owen.service_accounts
        account = accounts.create(f"bridge {RUN}", roles=["weighbridge"])
        secret = account.client_secret
        assert secret is not None
        accounts.edit(account.id, ServiceAccountPatch(name=f"{RUN} edited"))
        with client(ClientCredentials(account.client_id, secret)) as bridge:
            bridge.loads.search().page()
            with self.assertRaises(errors.Forbidden):
                bridge.loads.create(order(f"{RUN}-s"))
        self.assertNotEqual(accounts.rotate_secret(account.id).client_secret, secret)
        accounts.delete(account.id)
        with client(ClientCredentials(account.client_id, secret)) as bridge:
            with self.assertRaises(errors.AuthenticationFailed) as refused:
                bridge.loads.search().page()
        self.assertEqual(refused.exception.code, "invalid_client")

    def test_address_book(self) -> None:
        self.owen.loads.create(order(f"{RUN}-book"))
        book = self.owen.address_book
        self.assertIn("border-grain", [row.id for row in book.organisations()])
        book.block(RUN)
        self.assertIn(RUN, [row.id for row in book.blocked()])
        book.unblock(RUN)
        self.assertTrue(self.owen.loads.commodities())

    def test_the_feed(self) -> None:
        cursor = self.owen.loads.event_page("now").cursor
        ids = [self.owen.loads.create(order(f"{RUN}-f{number}")).id for number in range(2)]
        events = self.owen.loads.events(cursor, types=["load.created"], include_load=True)
        first = next(event for event in events if event.load_id == ids[0])
        self.assertEqual(first.load and first.load.reference, f"{RUN}-f0")
        with client("OWEN") as another:
            second = next(event for event in another.loads.events(first.cursor) if event.load_id in ids)
        self.assertEqual(second.load_id, ids[1])
        self.assertTrue(self.tom.listings.event_page(scope="market", limit=5).events)


@unittest.skipUnless("SYSTEM" in os.environ, "there are no services")
class LiveAsynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_many_at_once(self) -> None:
        env = {f"DROVER_{service}": os.environ[service] for service in SERVICES}
        with mock.patch.dict(os.environ, {**env, "DROVER_TOKEN": os.environ["OWEN"]}):
            from_env = AsyncDrover.from_env(retry=Retry(attempts=6))
        async with from_env as client:
            forms = [order(f"{RUN}-a{number}") for number in range(5)]
            created = await asyncio.gather(*(client.loads.create(form) for form in forms))
            search = client.loads.search(query=f"{RUN}-a")
            self.assertEqual({load.id async for load in search}, {load.id for load in created})
            sheet = io.BytesIO()
            await search.export(sheet)
            self.assertEqual(len(sheet.getvalue().splitlines()), 6)
            photo = await client.files.upload(PIXEL, "image", name=RUN)
            await client.files.download(photo.id, copy := io.BytesIO())
            self.assertEqual(copy.getvalue(), PIXEL)


if __name__ == "__main__":
    unittest.main()
