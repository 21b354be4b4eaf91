# Carys of Penybont Farm offers livestock, feed and bedding. Tom of Wye Valley Farm looks for them.

# Carys uploads a photograph of her heifers.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $CARYS" \
    -F bucket=images \
    -F type=image \
    -F "name=Heifers at grass $RUN" \
    -F file=@deploy/examples/files/heifers.jpg
# expect 200
# keep PHOTO = id
# check id is a UUID
# check status = active
# check type = image
# check organisationId = penybont-farm
# check info.contentType = image/jpeg
# check info.url = $SYSTEM/v1/files/$PHOTO

# Carys offers the heifers.
curl "$LIVESTOCK/v1/listings/cattle" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [2],
  "location": {
    "address": {"city": "Brecon", "region": "Powys", "postcode": "LD3 7EG", "countryISO": "GB"},
    "coordinates": {"lat": 51.9469, "lon": -3.3915}
  },
  "price": {"type": "fixed", "pricePerUnit": {"amount": 1450, "currency": "GBP"}},
  "files": [{"id": "$PHOTO"}],
  "description": "Twelve strong store heifers, Hereford cross, quiet to handle.",
  "tags": ["store", "hereford"],
  "properties": {
    "type": "store",
    "breedType": "cross",
    "additionalInfo": ["crossbred"],
    "sexes": "heifers",
    "quantity": 12,
    "minAge": 14,
    "maxAge": 18,
    "health": {"tbStatus": "clear", "tbDetails": "tested in March", "tbInterval": "12 months"},
    "performance": {"averageWeight": {"name": "kilogram", "conversion": 1, "weight": 410}}
  }
}
JSON
# expect 200
# keep HEIFERS = id
# check status = success
# check id is a UUID
# header Location: $LIVESTOCK/v1/listings/$HEIFERS

# Carys offers ewes, at a price between two limits.
curl "$LIVESTOCK/v1/listings/sheep" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [103],
  "location": {"coordinates": {"lat": 51.9469, "lon": -3.3915}},
  "price": {
    "type": "range",
    "minPrice": {"amount": 165, "currency": "GBP"},
    "maxPrice": {"amount": 190, "currency": "GBP"}
  },
  "files": null,
  "description": "Forty Beulah ewes, scanned with twins, to lamb in April.",
  "tags": ["spring"],
  "properties": {
    "type": ["breeding"],
    "breed": "Beulah Speckled Face",
    "breedType": "pure",
    "additionalInfo": ["in-lamb"],
    "sexes": "ewes",
    "quantity": 40
  }
}
JSON
# expect 200
# check status = success

# Carys offers a working dog.
curl "$LIVESTOCK/v1/listings/working-dog" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [301],
  "location": null,
  "price": {"type": "poa"},
  "files": null,
  "description": "Fully trained bitch, strong on cattle, works on whistle.",
  "tags": [],
  "properties": {
    "breed": "Border Collie",
    "breedType": "pure",
    "sex": "female",
    "registration": {"isRegistered": true, "registrationNumber": "ISDS 00/334455", "dateOfBirth": "2022-05-14"}
  }
}
JSON
# expect 200
# check status = success

# Carys offers hay. Feed and bedding have no properties.
curl "$LIVESTOCK/v1/listings/feed" \
    -H "Authorization: Bearer $CARYS" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [401],
  "location": {"coordinates": {"lat": 51.9469, "lon": -3.3915}},
  "price": {"type": "fixed", "pricePerUnit": {"amount": 42.5, "currency": "GBP"}},
  "files": null,
  "description": "Sixty round bales of meadow hay, barn stored, not rained on.",
  "tags": ["hay"]
}
JSON
# expect 200
# check status = success

# Tom wants straw: a listing of type "buying".
curl "$LIVESTOCK/v1/listings/bedding" \
    -H "Authorization: Bearer $TOM" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "buying",
  "isDraft": false,
  "categoryIds": [501],
  "location": {"coordinates": {"lat": 51.6466, "lon": -2.6733}},
  "price": {"type": "poa"},
  "files": null,
  "description": "Wanted: eighty large square bales of wheat straw, delivered.",
  "tags": ["straw"]
}
JSON
# expect 200
# check status = success

# Tom reads the listing of the heifers.
curl "$LIVESTOCK/v1/listings/$HEIFERS" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check status = active
# check type = selling
# check organisationId = penybont-farm
# check price.pricePerUnit.amount = 1450
# check location.coordinates.lat = 51.9469
# check properties.quantity = 12
# check files[0].name = Heifers at grass $RUN

# Tom looks at the photograph.
curl "$SYSTEM/v1/files/$PHOTO" \
    -H "Authorization: Bearer $TOM"
# expect 200
# same as deploy/examples/files/heifers.jpg
