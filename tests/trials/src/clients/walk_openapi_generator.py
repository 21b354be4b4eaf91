"""Sells a load and a flock with the Python clients that openapi-generator has generated."""

import os

import drover_livestock as livestock
import drover_logistics as logistics
import drover_system as system
from drover_logistics.exceptions import ApiException, NotFoundException

TOKEN = os.environ["TOKEN"]


def walk() -> None:
    files = system.FilesApi(
        system.ApiClient(system.Configuration(host=os.environ["SYSTEM"], access_token=TOKEN))
    )
    ticket = files.upload_file(
        bucket=system.Bucket.FILES,
        file=[("ticket.txt", b"ticket 4711")],
        name="Weighbridge ticket",
        type=system.FileType.WEIGHBRIDGE,
    )

    loads = logistics.LoadsApi(
        logistics.ApiClient(logistics.Configuration(host=os.environ["LOGISTICS"], access_token=TOKEN))
    )
    form = logistics.OrganiserForm.from_dict(
        {
            "organiserId": "border-grain",
            "organiserName": "Border Grain Merchants",
            "commodityId": 1,
            "reference": "BG-1002",
            "deliveryDateISO": "2026-12-01",
            "weight": 29.4,
            "weightNet": None,
            "files": [{"id": str(ticket.id)}],
            "tags": ["harvest"],
        }
    )
    assert form is not None
    created = loads.create_load_as_organiser(form)
    assert created.files[0].name == "Weighbridge ticket"
    assert any(load.id == created.id for load in loads.search_loads(query="BG-1002", limit=5))
    patch = logistics.LoadPatch.from_dict({"weight": 29, "pickupPostcode": "HR4 9AR", "ticketNumber": None})
    assert patch is not None
    edited = loads.update_load(str(created.id), patch, if_match='"1"')
    assert edited.weight is not None and edited.weight.weight == 29 and edited.pickup_postcode == "HR4 9AR"
    try:
        loads.update_load(str(created.id), patch, if_match='"1"')
    except ApiException as error:
        assert error.status == 412
    else:
        raise AssertionError("a stale revision is accepted")
    proof = logistics.ProofOfDelivery.from_dict(
        {"weightNet": 29.1, "ticketNumber": "4712", "vehicleRegistration": "VX21 KLM", "files": []}
    )
    assert proof is not None
    proven = loads.prove_delivery_of_load(str(created.id), proof)
    assert proven.status == logistics.Status.COMPLETED
    correction = logistics.ProofCorrection.from_dict({"weightNet": 28.9, "reason": "The ticket was misread"})
    assert correction is not None
    corrected = loads.correct_proof_of_delivery(str(created.id), correction)
    assert corrected.weight_net is not None and corrected.weight_net.weight == 28.9
    history = loads.list_load_events(str(created.id))
    assert [event.type for event in history] == ["created", "updated", "completed", "corrected"]
    assert history[3].reason == "The ticket was misread"
    form.reference, form.files = "BG-1002-B", None
    mistaken = loads.create_load_as_organiser(form)
    cancelled = loads.cancel_load(str(mistaken.id), cancel_form=logistics.CancelForm(reason="Entered twice"))
    assert cancelled.status == logistics.Status.CANCELLED

    listings = livestock.ListingsApi(
        livestock.ApiClient(livestock.Configuration(host=os.environ["LIVESTOCK"], access_token=TOKEN))
    )
    sheep = livestock.SheepForm.from_dict(
        {
            "type": "selling",
            "isDraft": False,
            "categoryIds": [],
            "location": {"coordinates": {"lat": 51.9469, "lon": -3.3915}},
            "price": {"type": "fixed", "pricePerUnit": {"amount": 145, "currency": "GBP"}},
            "files": [],
            "description": "Forty Texel ewes.",
            "tags": [],
            "properties": {"breed": "Texel", "quantity": 40},
        }
    )
    assert sheep is not None
    listed = listings.create_sheep_listing(sheep)
    texels = listings.search_listings(f_commodity_breed=["Texel"]).actual_instance
    assert isinstance(texels, list) and any(str(listing.id) == listed.id for listing in texels)
    assert listed.id is not None
    listings.close_listing(listed.id, livestock.CloseListing(status=livestock.ListingOutcome.SOLD))

    try:
        loads.find_load("no-such-load")
    except NotFoundException:
        return
    raise AssertionError("an unknown load is found")


walk()
