# Places need no token.

# A search finds a market town, although its name is misspelt.
curl "$SYSTEM/v1/addresses?query=herefrod&limit=2"
# expect 200
# check text = Hereford
# check type = place
# keep PLACE = id

# The id of a result leads to its location.
curl "$SYSTEM/v1/locations/address?id=$PLACE"
# expect 200
# check address.regionISO = GB-HEF
# check address.countryISO = GB
# keep WORDS = threeWords

# Three words name the same spot.
curl "$SYSTEM/v1/locations/three-words?query=$WORDS"
# expect 200
# check threeWords = $WORDS
# check address.name = Hereford

# So do coordinates.
curl "$SYSTEM/v1/locations/coordinates?lat=52.0565&lon=-2.716"
# expect 200
# check address.regionISO = GB-HEF
# check coordinates.lat = 52.0565

# A postcode is found with or without its space.
curl "$SYSTEM/v1/addresses?query=hr49ar"
# expect 200
# check type = postcode
# check text = HR4 9AR

# The counties of Great Britain are among its regions.
curl "$SYSTEM/v1/regions?countryISO=GB"
# expect 200
# check regions[*].iso = GB-HEF
