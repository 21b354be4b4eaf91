# needs 08

# Tom searches by words. Each must occur somewhere in a listing.
curl "$LIVESTOCK/v1/listings?query=hereford%20quiet&limit=100" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check [*].id = $HEIFERS

# Tom saves a search for Brecknock Hill Cheviot sheep. New matches will be counted.
curl "$LIVESTOCK/v1/saved-searches" \
    -H "Authorization: Bearer $TOM" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{"name": "Cheviots $RUN", "parameters": {"query": "cheviots $RUN", "f:commodityType": "sheep"}, "notify": true}
JSON
# expect 200
# keep SEARCH = id

# Carys offers some.
curl "$LIVESTOCK/v1/listings/sheep" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [1],
  "location": {
    "threeWords": "amber.barn.clover",
    "address": {"line1": "Penybont Farm", "city": "Brecon", "postcode": "LD3 7EG", "countryISO": "GB"},
    "coordinates": {"lat": 51.9469, "lon": -3.3915}
  },
  "price": {"type": "poa"},
  "files": [{"id": "$PHOTO"}],
  "description": "Ten Cheviots.",
  "tags": ["$RUN"],
  "properties": {"breed": "Brecknock Hill Cheviot", "type": ["store"], "sexes": "ewes", "quantity": 10}
}
JSON
# expect 200
# keep CHEVIOTS = id

# Tom reads what his search finds.
curl "$LIVESTOCK/v1/saved-searches/$SEARCH/listings" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check [0].id = $CHEVIOTS

# Nobody else sees the search.
curl "$LIVESTOCK/v1/saved-searches/$SEARCH" \
    -H "Authorization: Bearer $CARYS"
# expect 403 forbidden

# Tom no longer needs it.
curl -X DELETE "$LIVESTOCK/v1/saved-searches/$SEARCH" \
    -H "Authorization: Bearer $TOM"
# expect 200

# A visitor without a token sees active listings, with coordinates in hundredths of a degree.
curl "$LIVESTOCK/v1/public/listings?query=cheviots%20$RUN&latitude=51.95&longitude=-3.39"
# expect 200
# header Cache-Control: public, max-age=60
# check [0].id = $CHEVIOTS
# check [0].location.coordinates.lat = 51.95
# check [0].location.coordinates.lon = -3.39
# absent [0].location.threeWords
# absent [0].location.address.line1
# absent [0].userId
# check [0].distanceKm = 0.0

# The photograph is a link that needs no token.
curl "$LIVESTOCK/v1/public/listings/$CHEVIOTS"
# expect 200
# keep PHOTO_URL = files[0].url

# A browser shows it.
curl "$PHOTO_URL"
# expect 200
# header Content-Type: image/jpeg
# same as deploy/examples/files/heifers.jpg

# Silas reports the listing.
curl "$LIVESTOCK/v1/listings/$CHEVIOTS/report" \
    -H "Authorization: Bearer $SILAS" \
    -H "Content-Type: application/json" \
    -d '{"reason": "suspicious", "message": "I have seen this photograph elsewhere."}'
# expect 200

# Anna reads the reports of the listing.
curl "$LIVESTOCK/v1/listings/$CHEVIOTS/reports" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check [0].status = open
# keep REPORT = [0].id

# All open reports wait in a queue.
curl "$LIVESTOCK/v1/reports?f:status=open&f:reason=suspicious" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check [*].status = open

# Anna removes the listing.
curl "$LIVESTOCK/v1/reports/$REPORT/resolve" \
    -H "Authorization: Bearer $ANNA" \
    -H "Content-Type: application/json" \
    -d '{"outcome": "listing_removed", "note": "The photograph belongs to another listing."}'
# expect 200

# Its history tells why.
curl "$LIVESTOCK/v1/listings/$CHEVIOTS/events" \
    -H "Authorization: Bearer $CARYS"
# expect 200
# check [1].to = cancelled
# check [1].reason = moderation

# Visitors no longer find it.
curl "$LIVESTOCK/v1/public/listings/$CHEVIOTS"
# expect 404 not_found
