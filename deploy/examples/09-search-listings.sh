# needs 08

# Tom searches for cattle on offer. The newest come first.
curl "$LIVESTOCK/v1/listings?f:commodityType=cattle&f:status=active-selling&limit=2" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check [*].id = $HEIFERS

# Tom searches for heifers within 60 km of his farm. The nearest come first.
curl "$LIVESTOCK/v1/listings?f:commoditySexes=heifers&latitude=51.6466&longitude=-2.6733&distanceKm=60&limit=100" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check [*].id = $HEIFERS

# Tom asks how many listings each filter would find.
curl "$LIVESTOCK/v1/listings?docs=false&f:status=active-selling" \
    -H "Authorization: Bearer $TOM"
# expect 200
# check filters.f:commodityType[*].value = cattle
# check filters.f:commodityBreed[*].value = Beulah Speckled Face

# Tom exports the listings of Penybont Farm as a spreadsheet.
curl "$LIVESTOCK/v1/listings?f:organisationId=penybont-farm&format=CSV" \
    -H "Authorization: Bearer $TOM"
# expect 200
# begins id,type,status,category,
# contains $HEIFERS
