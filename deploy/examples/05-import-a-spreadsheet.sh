# Many loads at once, as CSV or XLSX. All rows are stored, or none.

# The template has all columns.
curl "$LOGISTICS/v1/loads/batch/template" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# begins reference,deliveryDateISO

# As a workbook it has drop-down lists, a sample row and the commodities.
curl "$LOGISTICS/v1/loads/batch/template?format=XLSX" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# header Content-Disposition: attachment; filename="loads-template.xlsx"
# contains xl/workbook.xml

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

# Owen's table grows. He sends it again with one row more: the rows that exist are skipped.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F ifExists=skip \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight;tags
BG-$RUN-1;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-2;2026-12-02;Milling Wheat;28;harvest
BG-$RUN-3;2026-12-03;Milling Wheat;28;harvest
BG-$RUN-6;2026-12-04;Milling Wheat;28;harvest
CSV
# expect 200
# check count = 1
# check skipped = 3

# With ifExists=refuse, a row that exists is an error.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F ifExists=refuse \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight
BG-$RUN-1;2026-12-02;Milling Wheat;28
BG-$RUN-7;2026-12-02;Milling Wheat;28
CSV
# expect 400 validation_failed
# fields rows[0].reference
# check validation[0].data.loadId = $IMPORTED

# A spreadsheet of a German computer has other dates and decimals.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F dateOrder=dmy \
    -F decimal=comma \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName;weight
BG-$RUN-8;02.12.2026;Milling Wheat;28,5
CSV
# expect 200
# check count = 1

# A misspelt commodity gets near names.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F "organisationName=Border Grain Merchants" \
    -F "file=@-;filename=loads.csv;type=text/csv" <<CSV
Reference;deliveryDateISO;commodityName
BG-$RUN-9;2026-12-02;Miling Weat
CSV
# expect 400 validation_failed
# fields rows[0].commodityName
# check validation[0].data.suggestions[0] = Milling Wheat

# Owen exports the loads for Excel: a workbook with typed cells.
curl "$LOGISTICS/v1/loads?query=BG-$RUN&format=XLSX" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# header Content-Type: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
# contains xl/workbook.xml

# CSV for Excel begins with a byte order mark.
curl "$LOGISTICS/v1/loads?query=BG-$RUN&format=CSV&bom=true" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# contains BG-$RUN-6
