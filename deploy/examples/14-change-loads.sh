# Mistakes are mended: loads are edited, cancelled and corrected, drivers are revoked. The history tells who did what.

# Ruth enters a load for Owen, with a wrong weight.
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
  "reference": "CH-$RUN",
  "deliveryDateISO": "2026-12-08",
  "weight": 2.94,
  "pickupPostcode": "HR4 9AR",
  "tags": []
}
JSON
# expect 200
# keep CHANGED = id
# check createdBy.organisationId = hereford-haulage

# Owen reads the load. The ETag is its revision.
curl "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# header ETag: "1"

# Ruth mends the weight and removes the postcode, provided that nobody has changed the load since.
curl -X PATCH "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/merge-patch+json" \
    -H 'If-Match: "1"' \
    -d '{"weight": 29.4, "pickupPostcode": null}'
# expect 200
# header ETag: "2"
# check weight.weight = 29.4

# Owen has the old revision: his change is refused.
curl -X PATCH "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/merge-patch+json" \
    -H 'If-Match: "1"' \
    -d '{"deliveryDateISO": "2026-12-09"}'
# expect 412 precondition_failed
# check body.revision = 2

# With the present revision it succeeds.
curl -X PATCH "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/merge-patch+json" \
    -H 'If-Match: "2"' \
    -d '{"deliveryDateISO": "2026-12-09"}'
# expect 200
# check deliveryDateISO = 2026-12-09T00:00:00.000Z

# Nobody edits the status: a proof of delivery completes a load.
curl -X PATCH "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"status": "completed"}'
# expect 400 validation_failed
# fields status

# Ruth sends the load to the wrong driver.
curl "$LOGISTICS/v1/loads/send-to-driver" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d "{\"loadId\": \"$CHANGED\", \"driverId\": \"dia\"}"
# expect 200

# Ruth revokes that driver, who can no longer read the load.
curl -X DELETE "$LOGISTICS/v1/loads/$CHANGED/drivers/dia" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check status = success

# Ruth sends the load to Dai.
curl "$LOGISTICS/v1/loads/send-to-driver" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d "{\"loadId\": \"$CHANGED\", \"driverId\": \"dai\"}"
# expect 200
# keep SENT = id

# Dai is the only driver of the load now.
curl "$LOGISTICS/v1/loads/$CHANGED/drivers" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].driverId = dai

# Dai finds the loads that were sent to him.
curl "$LOGISTICS/v1/loads?f:driverId=me&query=ch-$RUN" \
    -H "Authorization: Bearer $DAI"
# expect 200
# check [0].id = $CHANGED

# Owen reads the notifications of his loads, newest first.
curl "$LOGISTICS/v1/notifications?f:loadId=$CHANGED&f:event=load.sent_to_driver" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = $SENT
# check [0].loadId = $CHANGED
# check [0].recipientId = dai

# Dai proves the delivery with a wrong weight. It is stored, with a warning.
curl "$LOGISTICS/v1/loads/$CHANGED/proof-of-delivery" \
    -H "Authorization: Bearer $DAI" \
    -H "Content-Type: application/json" \
    -d '{"weightNet": 291, "ticketNumber": "WB-20419", "vehicleRegistration": "CX70 DAI", "files": null}'
# expect 200
# check status = completed
# check warnings[0].code = weight_differs
# check warnings[0].path = weightNet

# A completed load is no longer edited.
curl -X PATCH "$LOGISTICS/v1/loads/$CHANGED" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"weightNet": 29.1}'
# expect 409 conflict

# Owen corrects the proof, with gross and tare weight from the weighbridge.
curl "$LOGISTICS/v1/loads/$CHANGED/proof-of-delivery/corrections" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"weightNet": 29.1, "weightGross": 44, "weightTare": 14.9, "reason": "The ticket was misread"}'
# expect 200
# check weightNet.weight = 29.1
# check weightGross.weight = 44

# Owen accepts the load, which a carrier entered for him.
curl -X POST "$LOGISTICS/v1/loads/$CHANGED/accept" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check status = success

# The history has each change, who made it, and the values before and after.
curl "$LOGISTICS/v1/loads/$CHANGED/events" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].type = created
# check [0].userName = Ruth
# check [1].type = updated
# check [1].changes.weight.from = 2.94
# check [1].changes.weight.to = 29.4
# check [2].changes.deliveryDateISO.to = 2026-12-09T00:00:00.000Z
# check [3].type = sent_to_driver
# check [4].type = driver_revoked
# check [4].changes.driverId.from = dia
# check [5].type = sent_to_driver
# check [6].type = completed
# check [6].userName = Dai
# check [7].type = corrected
# check [7].reason = The ticket was misread
# check [7].changes.weightNet.from = 291
# check [8].type = accepted

# Dai, who drove the load, does not read its history.
curl "$LOGISTICS/v1/loads/$CHANGED/events" \
    -H "Authorization: Bearer $DAI"
# expect 403 forbidden

# Owen enters a load by mistake.
curl "$LOGISTICS/v1/loads/organiser" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "organiserId": "border-grain",
  "organiserName": "Border Grain Merchants",
  "commodityId": 1,
  "reference": "XX-$RUN",
  "deliveryDateISO": "2026-12-10",
  "weight": 28,
  "weightNet": null,
  "files": null,
  "tags": []
}
JSON
# expect 200
# keep CANCELLED = id

# Owen cancels it.
curl "$LOGISTICS/v1/loads/$CANCELLED/cancel" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"reason": "Entered twice"}'
# expect 200
# check status = cancelled

# Searches leave cancelled loads out, unless they ask for them.
curl "$LOGISTICS/v1/loads?query=xx-$RUN" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# is []

# With the filter they find it.
curl "$LOGISTICS/v1/loads?query=xx-$RUN&f:status=cancelled" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = $CANCELLED

# A cancelled load is not sent.
curl "$LOGISTICS/v1/loads/send-to-driver" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d "{\"loadId\": \"$CANCELLED\", \"driverId\": \"dai\"}"
# expect 409 conflict
