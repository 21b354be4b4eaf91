# Listings are edited while they are drafts or active. The history tells who changed what.

# Carys offers ewe lambs, with a wrong price. Their place on the map follows from the postcode.
curl "$LIVESTOCK/v1/listings/sheep" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [1],
  "location": {"address": {"city": "Brecon", "postcode": "LD3 7EG", "countryISO": "GB"}},
  "price": {"type": "fixed", "pricePerUnit": {"amount": 11, "currency": "GBP"}},
  "files": null,
  "description": "Thirty Beulah ewe lambs.",
  "tags": ["$RUN"],
  "properties": {"breed": "Beulah Speckled Face", "type": ["store"], "sexes": "lambs", "quantity": 30, "minAge": 6, "maxAge": 7}
}
JSON
# expect 200
# keep LAMBS = id

# Carys reads the listing. The ETag is its revision.
curl "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS"
# expect 200
# header ETag: "1"
# check location.coordinatesSource = postcode

# Carys mends the price and sells five fewer, provided that nobody has changed the listing since.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/merge-patch+json" \
    -H 'If-Match: "1"' \
    -d '{"price": {"pricePerUnit": {"amount": 110}}, "properties": {"quantity": 25}}'
# expect 200
# header ETag: "2"
# check price.pricePerUnit.amount = 110
# check price.pricePerUnit.currency = GBP
# check properties.quantity = 25
# check properties.breed = Beulah Speckled Face

# With the old revision the next change is refused.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/merge-patch+json" \
    -H 'If-Match: "1"' \
    -d '{"description": "Twenty-five Beulah ewe lambs."}'
# expect 412 precondition_failed
# check body.revision = 2

# An edited listing keeps the rules for creating.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"price": {"type": "range"}, "properties": {"minAge": 8}}'
# expect 400 validation_failed
# fields price.maxPrice, price.minPrice, properties.minAge

# What is published stays an offer.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"type": "buying"}'
# expect 409 conflict

# Tom edits no listings of others.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $TOM" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"description": "Cheap."}'
# expect 403 forbidden

# Carys reads the history.
curl "$LIVESTOCK/v1/listings/$LAMBS/events" \
    -H "Authorization: Bearer $CARYS"
# expect 200
# check [0].type = created
# check [1].type = updated
# check [1].changes.price.from.pricePerUnit.amount = 11
# check [1].changes.price.to.pricePerUnit.amount = 110
# check [1].changes.properties.to.quantity = 25

# The lambs are sold.
curl "$LIVESTOCK/v1/listings/$LAMBS/close" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d '{"status": "sold"}'
# expect 200

# A closed listing is not edited.
curl -X PATCH "$LIVESTOCK/v1/listings/$LAMBS" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/merge-patch+json" \
    -d '{"tags": []}'
# expect 409 conflict
