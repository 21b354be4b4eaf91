# Every error has a code and the id of its request. See docs/api/errors.md.

# A load with three invalid fields: the response has all of them.
curl "$LOGISTICS/v1/loads/carrier" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "carrierId": "hereford-haulage",
  "carrierName": "Hereford Haulage",
  "commodityId": 1,
  "reference": "",
  "deliveryDateISO": "next Tuesday",
  "weight": -3,
  "tags": []
}
JSON
# expect 400 validation_failed
# fields deliveryDateISO, reference, weight

# The body is not JSON.
curl "$LOGISTICS/v1/loads/carrier" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d '{"carrierId": '
# expect 400 malformed_body

# Without a token.
curl "$LOGISTICS/v1/loads"
# expect 401 unauthenticated
# header WWW-Authenticate: Bearer realm="drover"

# A load of an organisation that is not the caller's.
curl "$LOGISTICS/v1/loads/carrier" \
    -H "Authorization: Bearer $SILAS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "carrierId": "hereford-haulage",
  "carrierName": "Hereford Haulage",
  "commodityId": 1,
  "reference": "SE-1",
  "deliveryDateISO": "2026-12-01",
  "weight": null,
  "tags": []
}
JSON
# expect 403 forbidden

# A load that does not exist.
curl "$LOGISTICS/v1/loads/0192f0c1-7b1a-7c3e-8a55-0a1b2c3d4e5f" \
    -H "Authorization: Bearer $RUTH"
# expect 404 not_found

# A listing with an Idempotency-Key.
curl "$LIVESTOCK/v1/listings/feed" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -H "Idempotency-Key: example-$RUN" \
    -d @- <<JSON
{
  "type": "selling", "isDraft": true, "categoryIds": [], "location": null, "price": {"type": "poa"},
  "files": null, "description": "Ten tonnes of fodder beet.", "tags": []
}
JSON
# expect 200
# keep BEET = id

# The same request again, as after a lost connection: the first response is repeated, and there is one listing.
curl "$LIVESTOCK/v1/listings/feed" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -H "Idempotency-Key: example-$RUN" \
    -d @- <<JSON
{
  "type": "selling", "isDraft": true, "categoryIds": [], "location": null, "price": {"type": "poa"},
  "files": null, "description": "Ten tonnes of fodder beet.", "tags": []
}
JSON
# expect 200
# check id = $BEET
# header Idempotency-Replayed: true

# The same key with another request.
curl "$LIVESTOCK/v1/listings/feed" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -H "Idempotency-Key: example-$RUN" \
    -d @- <<JSON
{
  "type": "selling", "isDraft": true, "categoryIds": [], "location": null, "price": {"type": "poa"},
  "files": null, "description": "Twenty tonnes of fodder beet.", "tags": []
}
JSON
# expect 409 idempotency_key_reused
