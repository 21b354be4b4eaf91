# needs 03

# Ruth finds her load by its reference, in any case.
curl "$LOGISTICS/v1/loads?query=hh-$RUN&f:carrierId=hereford-haulage" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check [0].id = $LOAD
# check [0].reference = HH-$RUN

# Owen lists both upcoming loads in the order of their references, with their number.
curl "$LOGISTICS/v1/loads?query=$RUN&f:status=upcoming&startDateISO=2026-12-01&sortBy=reference&limit=5&count=true" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].reference = BG-$RUN
# check [1].reference = HH-$RUN
# header X-Total-Count: 2

# Owen reads both loads by their ids, in the order of the request.
curl "$LOGISTICS/v1/loads/by-ids?ids=$OWENS_LOAD,$LOAD" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = $OWENS_LOAD
# check [1].id = $LOAD

# Owen exports his loads as a spreadsheet.
curl "$LOGISTICS/v1/loads?query=$RUN&format=CSV" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# header Content-Type: text/csv; charset=utf-8
# begins id,reference,status,
# contains HH-$RUN

# Silas sees no loads of others.
curl "$LOGISTICS/v1/loads?query=hh-$RUN" \
    -H "Authorization: Bearer $SILAS"
# expect 200
# is []
