# Many loads at once, as CSV or XLSX. All rows are stored, or none.

# The template has all columns.
curl "$LOGISTICS/v1/loads/batch/template" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# contains reference

# Owen checks a spreadsheet without storing anything.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F dryRun=true \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight;tags
BG-$RUN-1;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-2;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-3;2026-12-03;Milling Wheat;28;harvest
CSV
# expect 200
# check count = 3
# check ids = []

# Owen imports it.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight;tags
BG-$RUN-1;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-2;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-3;2026-12-03;Milling Wheat;28;harvest
CSV
# expect 200
# check status = success
# check count = 3
# keep IMPORTED = ids[0]

# Each row is a load now.
curl "$LOGISTICS/v1/loads/$IMPORTED" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check reference = BG-$RUN-1
# check organiser.id = border-grain
# check commodity.name = Milling Wheat

# Owen imports it again, unsure whether it arrived: the same content is refused.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight;tags
BG-$RUN-1;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-2;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-3;2026-12-03;Milling Wheat;28;harvest
CSV
# expect 409 conflict
# keep IMPORTED_AT = body.importedAtUTC

# Owen imports another with an invalid cell: the response has its line, and nothing is stored.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight;tags
BG-$RUN-4;2026-12-02;Milling Wheat;heavy;harvest
BG-$RUN-5;2026-12-02;Milling Wheat;28;harvest
CSV
# expect 400 validation_failed
# fields rows[0].weight
# check validation[0].data.line = 2
# check body.failedRows = 1

# The valid row of that spreadsheet was not stored either.
curl "$LOGISTICS/v1/loads?query=BG-$RUN-5" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# is []
