# A draft is published, added to a wishlist, reported and sold.

# Carys uploads another photograph. Files of this type are private to the organisation until they are shared.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $CARYS" \
    -F bucket=images \
    -F type=misc \
    -F "name=Steers $RUN" \
    -F file=@deploy/examples/files/heifers.jpg
# expect 200
# keep DRAFT_PHOTO = id
# check type = misc

# Carys prepares a listing as a draft.
curl "$LIVESTOCK/v1/listings/cattle" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": true,
  "categoryIds": [206],
  "location": null,
  "price": {"type": "fixed", "pricePerUnit": {"amount": 1280, "currency": "GBP"}},
  "files": [{"id": "$DRAFT_PHOTO"}],
  "description": "Eight Limousin cross steers.",
  "tags": [],
  "properties": {"type": "store", "breedType": "cross", "sexes": "steers", "quantity": 8}
}
JSON
# expect 200
# keep DRAFT = id

# Carys finds her drafts.
curl "$LIVESTOCK/v1/listings?f:status=draft" \
    -H "Authorization: Bearer $CARYS"
# expect 200
# check [*].id = $DRAFT

# Tom cannot read the draft.
curl "$LIVESTOCK/v1/listings/$DRAFT" \
    -H "Authorization: Bearer $TOM"
# expect 403 forbidden

# Tom cannot open its photograph.
curl "$SYSTEM/v1/files/$DRAFT_PHOTO" \
    -H "Authorization: Bearer $TOM"
# expect 403 forbidden

# Carys publishes the draft.
curl -X POST "$LIVESTOCK/v1/listings/$DRAFT/publish" \
    -H "Authorization: Bearer $CARYS"
# expect 200

# Tom reads it.
curl "$LIVESTOCK/v1/listings/$DRAFT" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check status = active

# Tom opens its photograph.
curl "$SYSTEM/v1/files/$DRAFT_PHOTO" \
    -H "Authorization: Bearer $TOM"
# expect 200
# same as deploy/examples/files/heifers.jpg

# Tom puts it on his wishlist.
curl -X PUT "$LIVESTOCK/v1/listings/$DRAFT/wishlist" \
    -H "Authorization: Bearer $TOM"
# expect 200

# Silas reports it.
curl "$LIVESTOCK/v1/listings/$DRAFT/report" \
    -H "Authorization: Bearer $SILAS" \
    -H "Content-Type: application/json" \
    -d '{"reason": "misleading", "message": "The photograph is an old one."}'
# expect 200

# Each user can report a listing once.
curl "$LIVESTOCK/v1/listings/$DRAFT/report" \
    -H "Authorization: Bearer $SILAS" \
    -H "Content-Type: application/json" \
    -d '{"reason": "misleading", "message": "The photograph is an old one."}'
# expect 409 conflict

# Carys has sold the steers.
curl "$LIVESTOCK/v1/listings/$DRAFT/close" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d '{"status": "sold"}'
# expect 200

# A closed listing stays closed.
curl "$LIVESTOCK/v1/listings/$DRAFT/close" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d '{"status": "cancelled"}'
# expect 409 conflict

# Tom sees on his wishlist that the steers are sold.
curl "$LIVESTOCK/v1/listings?isWishlisted=true&limit=1" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check [0].id = $DRAFT
# check [0].status = sold
