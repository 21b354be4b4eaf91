# needs 02

# A load names its commodity by a number.
curl "$LOGISTICS/v1/commodities" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check [0].id = 1
# check [0].name = Feed Wheat

# Ruth enters a load as its carrier, for Border Grain Merchants, with the ticket.
curl "$LOGISTICS/v1/loads/carrier" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "organisationId": "border-grain",
  "organisationName": "Border Grain Merchants",
  "carrierId": "hereford-haulage",
  "carrierName": "Hereford Haulage",
  "commodityId": 1,
  "reference": "HH-$RUN",
  "deliveryDateISO": "2026-12-01",
  "weight": 29.4,
  "pickupPostcode": "hr49ar",
  "dropoffPostcode": "SY8 1EG",
  "tags": ["harvest"],
  "files": [{"id": "$TICKET"}]
}
JSON
# expect 200
# keep LOAD = id
# check id is a UUID
# check status = upcoming
# check carrier.id = hereford-haulage
# check organiser.id = border-grain
# check organiser.name = Border Grain Merchants
# check commodity.id = 1
# check weight.weight = 29.4
# check pickupPostcode = HR4 9AR
# check files[0].id = $TICKET
# check files[0].name = Weighbridge ticket $RUN
# check files[0].url = $SYSTEM/v1/files/$TICKET
# check files[0].userName = Ruth
# check files[0].createdAtUTC = $UPLOADED_AT

# Entering the load has shared the ticket with both organisations.
curl "$SYSTEM/v1/files/$TICKET/info" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check organisations[0] = border-grain
# check organisations[1] = hereford-haulage

# Owen, its organiser, can now open the ticket.
curl "$SYSTEM/v1/files/$TICKET" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# same as deploy/examples/files/weighbridge-ticket.jpg

# Owen uploads the contract of another sale.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $OWEN" \
    -F bucket=files \
    -F type=contract \
    -F "name=Contract $RUN" \
    -F file=@deploy/examples/files/contract.pdf
# expect 200
# keep CONTRACT = id
# check id is a UUID
# check status = active
# check type = contract
# check organisationId = border-grain
# check info.contentType = application/pdf
# check info.url = $SYSTEM/v1/files/$CONTRACT

# Owen enters a load as its organiser, with the contract and without a carrier.
curl "$LOGISTICS/v1/loads/organiser" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "organiserId": "border-grain",
  "organiserName": "Border Grain Merchants",
  "commodityId": 1,
  "reference": "BG-$RUN",
  "deliveryDateISO": "2026-12-01",
  "weight": 28,
  "weightNet": null,
  "files": [{"id": "$CONTRACT"}],
  "tags": ["contract"]
}
JSON
# expect 200
# keep OWENS_LOAD = id
# check status = upcoming
# check organiser.id = border-grain
# check files[0].name = Contract $RUN
# check files[0].url = $SYSTEM/v1/files/$CONTRACT
