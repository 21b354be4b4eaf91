"""Sells a load and a flock with the clients that openapi-python-client has generated."""

import os
from io import BytesIO

import drover_livestock_client as livestock
import drover_livestock_client.models as livestock_models
import drover_logistics_client as logistics
import drover_logistics_client.models as models
import drover_system_client as system
import drover_system_client.models as system_models
from drover_livestock_client.api.listings import close_listing, create_sheep_listing, search_listings
from drover_logistics_client.api.loads import (
    cancel_load,
    correct_proof_of_delivery,
    create_load_as_organiser,
    find_load,
    list_load_events,
    prove_delivery_of_load,
    search_loads,
    update_load,
)
from drover_system_client.api.files import upload_file
from drover_system_client.types import File

TOKEN = os.environ["TOKEN"]


def walk() -> None:
    files = system.AuthenticatedClient(base_url=os.environ["SYSTEM"], token=TOKEN)
    ticket = upload_file.sync(
        client=files,
        body=system_models.FileUploadForm(
            bucket=system_models.Bucket.FILES,
            file=[File(BytesIO(b"ticket 4711"), "ticket.txt", "text/plain")],
            name="Weighbridge ticket",
            type_=system_models.FileType.WEIGHBRIDGE,
        ),
    )
    assert isinstance(ticket, system_models.Uploaded)

    loads = logistics.AuthenticatedClient(base_url=os.environ["LOGISTICS"], token=TOKEN)
    created = create_load_as_organiser.sync(
        client=loads,
        body=models.OrganiserForm(
            organiser_id="border-grain",
            organiser_name="Border Grain Merchants",
            commodity_id=1,
            reference="BG-1003",
            delivery_date_iso="2026-12-01",
            weight=29.4,
            weight_net=None,
            files=[models.FileReference(id=str(ticket.id))],
            tags=["harvest"],
        ),
    )
    assert isinstance(created, models.Load) and created.files[0].name == "Weighbridge ticket"
    found = search_loads.sync(client=loads, query="BG-1003", limit=5)
    assert isinstance(found, list) and any(load.id == created.id for load in found)
    patch = models.LoadPatch(weight=29, pickup_postcode="HR4 9AR", ticket_number=None)
    edited = update_load.sync(str(created.id), client=loads, body=patch, if_match='"1"')
    assert isinstance(edited, models.Load) and edited.pickup_postcode == "HR4 9AR"
    stale = update_load.sync_detailed(str(created.id), client=loads, body=patch, if_match='"1"')
    assert stale.status_code == 412
    proof = models.ProofOfDelivery(
        weight_net=29.1, ticket_number="4713", vehicle_registration="VX21 KLM", files=[]
    )
    proven = prove_delivery_of_load.sync(str(created.id), client=loads, body=proof)
    assert isinstance(proven, models.Load) and proven.status == models.Status.COMPLETED
    correction = models.ProofCorrection(weight_net=28.9, reason="The ticket was misread")
    corrected = correct_proof_of_delivery.sync(str(created.id), client=loads, body=correction)
    assert isinstance(corrected, models.Load)
    history = list_load_events.sync(str(created.id), client=loads)
    assert isinstance(history, list)
    assert [event.type_.value for event in history] == ["created", "updated", "completed", "corrected"]
    assert history[3].reason == "The ticket was misread"
    mistaken = create_load_as_organiser.sync(
        client=loads,
        body=models.OrganiserForm(
            organiser_id="border-grain",
            organiser_name="Border Grain Merchants",
            commodity_id=1,
            reference="BG-1003-B",
            delivery_date_iso="2026-12-01",
            weight=None,
            weight_net=None,
            files=None,
            tags=[],
        ),
    )
    assert isinstance(mistaken, models.Load)
    reason = models.CancelForm(reason="Entered twice")
    cancelled = cancel_load.sync(str(mistaken.id), client=loads, body=reason)
    assert isinstance(cancelled, models.Load) and cancelled.status == models.Status.CANCELLED

    listings = livestock.AuthenticatedClient(base_url=os.environ["LIVESTOCK"], token=TOKEN)
    listed = create_sheep_listing.sync(
        client=listings,
        body=livestock_models.SheepForm(
            type_=livestock_models.ListingType.SELLING,
            is_draft=False,
            category_ids=[],
            location=livestock_models.NewLocation(
                coordinates=livestock_models.Coordinates(lat=51.9469, lon=-3.3915)
            ),
            price=livestock_models.Price(
                type_=livestock_models.PriceType.FIXED,
                price_per_unit=livestock_models.Money(amount=145, currency="GBP"),
            ),
            files=[],
            description="Forty Texel ewes.",
            tags=[],
            properties=livestock_models.SheepProperties(breed="Texel", quantity=40),
        ),
    )
    assert isinstance(listed, livestock_models.ActionResult) and isinstance(listed.id, str)
    texels = search_listings.sync(client=listings, fcommodity_breed=["Texel"])
    assert isinstance(texels, list) and any(str(listing.id) == listed.id for listing in texels)
    sold = livestock_models.CloseListing(status=livestock_models.ListingOutcome.SOLD)
    assert close_listing.sync(listed.id, client=listings, body=sold) is not None

    assert find_load.sync_detailed("no-such-load", client=loads).status_code == 404


walk()
