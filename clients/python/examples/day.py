"""The day of an app developer. To run it: set -a; . deploy/examples/env.sh; python clients/python/examples/day.py"""

import time
from pathlib import Path

from workbench import Receiver, check, client

from drover import verify_webhook
from drover.models import livestock
from drover.models.logistics import Load, LoadPatch, OrganiserForm

PHOTO = Path(__file__).parents[3] / "deploy/examples/files/heifers.jpg"
RUN = f"day{time.time_ns()}"
carys, gwen, receiver = client("CARYS", loses="/v1/loads/organiser"), client("GWEN"), Receiver()

photos = [carys.files.upload(PHOTO, "image", bucket="images", name=name) for name in ("front", "side")]
heifers = livestock.CattleForm(
    type="selling", is_draft=False, category_ids=[], description="Twelve heifers, quiet to handle", tags=[RUN],
    location=livestock.NewLocation(address=livestock.Address(postcode="LD3 7EG", country_iso="GB")),
    price=livestock.Price(type="fixed", price_per_unit=livestock.Money(amount=1450, currency="GBP")),
    files=[livestock.FileReference(id=photo.id) for photo in photos],
    properties=livestock.CattleProperties(breed="Hereford", sexes="heifers", quantity=12),
)  # fmt: skip
listing = carys.listings.get(carys.listings.create(heifers).id)
check("a listing with two photographs", [file.name for file in listing.files] == ["front", "side"])
breeds = carys.listings.facets(query=RUN, near="LD3 7EG", distance_km=10).filters["f:commodityBreed"]
check("facets", [(facet.value, facet.count) for facet in breeds] == [("Hereford", 1)])

hook = carys.loads.webhooks.create(receiver.url, ["load.created"])
cursor = carys.loads.event_page("now").cursor
first, second = (carys.loads.create(OrganiserForm(
    organiser_id="penybont-farm", organiser_name="Penybont Farm", reference=f"{RUN}-{number}", commodity_id=1,
    delivery_date_iso="2026-12-01", weight=29.4, weight_net=None, files=None, tags=["harvest"],
)) for number in (1, 2))  # fmt: skip
found = carys.loads.search(query=RUN, sort_by="reference")
check("two loads, although an answer was lost", [load.id for load in found] == [first.id, second.id])
page = found.page(limit=1, count=True)
check("paging", page.total == 2 and found.page(page).items[0].id == second.id)
signed = (verify_webhook(*receiver.next(), hook.secret or "") for _ in range(100))
check("a webhook that Drover signed", any(event.data["load"]["id"] == second.id for event in signed))
carys.loads.webhooks.delete(hook.id)


def merge(mine: LoadPatch, theirs: Load) -> LoadPatch:
    return LoadPatch(tags=[*theirs.tags, *(mine.tags or [])])


gwen.loads.edit(first.id, LoadPatch(tags=["harvest", "wet"]))
edited = carys.loads.edit(first, LoadPatch(tags=["late"]), merge=merge)
check("an edit that met another's", edited.tags == ["harvest", "wet", "late"])

stored = next(event for event in carys.loads.events(cursor) if event.load_id == first.id).cursor
carys.close()
with client("CARYS") as restarted:
    events = restarted.loads.events(stored)
    seen = [next(event for event in events if event.load_id == id).type for id in (second.id, first.id)]
check("the feed goes on after a restart", seen == ["load.created", "load.updated"])
