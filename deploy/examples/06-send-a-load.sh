# needs 03

# Owen's load is not Ruth's yet.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD" \
    -H "Authorization: Bearer $RUTH"
# expect 403 forbidden

# Nor is the contract.
curl "$SYSTEM/v1/files/$CONTRACT" \
    -H "Authorization: Bearer $RUTH"
# expect 403 forbidden

# Owen sends his load to Hereford Haulage, which becomes its carrier.
curl "$LOGISTICS/v1/loads/send-to-carrier" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{"loadId": "$OWENS_LOAD", "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage"}
JSON
# expect 200
# check status = success
# check id is a UUID

# Ruth reads the load.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check carrier.id = hereford-haulage
# check carrier.name = Hereford Haulage

# Ruth opens the contract.
curl "$SYSTEM/v1/files/$CONTRACT" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# same as deploy/examples/files/contract.pdf

# Silas cannot.
curl "$SYSTEM/v1/files/$CONTRACT" \
    -H "Authorization: Bearer $SILAS"
# expect 403 forbidden

# Dai, a driver, cannot read the load.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD" \
    -H "Authorization: Bearer $DAI"
# expect 403 forbidden

# Ruth sends the load to Dai.
curl "$LOGISTICS/v1/loads/send-to-driver" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{"loadId": "$OWENS_LOAD", "driverId": "dai"}
JSON
# expect 200
# keep NOTIFICATION = id

# Dai reads the load.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD" \
    -H "Authorization: Bearer $DAI"
# expect 200
# check id = $OWENS_LOAD

# Owen reads who was notified. Logistics also delivers each notification to a webhook (docs/api/webhooks.md).
curl "$LOGISTICS/v1/loads/$OWENS_LOAD/notifications" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = $NOTIFICATION
# check [0].event = load.sent_to_driver
# check [0].recipientId = dai
# check [1].event = load.sent_to_carrier
# check [1].recipientId = hereford-haulage
