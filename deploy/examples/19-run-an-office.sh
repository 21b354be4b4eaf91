# A day of an office with its spreadsheet: import, mend, import again, undo, and the tonnes of the month.

# Owen checks his sheet. The service finds out how it was written, and what is wrong with it: a misspelt commodity.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F dryRun=true \
    -F dateOrder=auto \
    -F decimal=auto \
    -F "file=@-;filename=march.csv;type=text/csv" <<CSV
Our ref;Delivery date;Commodity;Weight (t);Haulier ID;Haulier
OD-$RUN-1;13/03/2026;Milling Wheat;28,5;hereford-haulage;Hereford Haulage
OD-$RUN-2;14/03/2026;Miling Weat;29;hereford-haulage;Hereford Haulage
OD-$RUN-3;20/03/2026;Feed Barley;27;hereford-haulage;Hereford Haulage
CSV
# expect 400 validation_failed
# fields rows[1].commodityName
# check validation[0].data.suggestions[0] = Milling Wheat
# check body.recognised[0].dateOrder = dmy
# check body.recognised[0].decimal = comma

# He takes the suggestion, and imports the same sheet with this correction.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F dateOrder=auto \
    -F decimal=auto \
    -F 'corrections=[{"row": 1, "column": "commodityName", "value": "Milling Wheat"}]' \
    -F "file=@-;filename=march.csv;type=text/csv" <<CSV
Our ref;Delivery date;Commodity;Weight (t);Haulier ID;Haulier
OD-$RUN-1;13/03/2026;Milling Wheat;28,5;hereford-haulage;Hereford Haulage
OD-$RUN-2;14/03/2026;Miling Weat;29;hereford-haulage;Hereford Haulage
OD-$RUN-3;20/03/2026;Feed Barley;27;hereford-haulage;Hereford Haulage
CSV
# expect 200
# check count = 3
# keep OFFICE_1 = ids[0]
# keep OFFICE_3 = ids[2]

# The haulier is in his address book from now on. Ruth has called the service for it, so that it is known.
curl "$LOGISTICS/v1/loads?f:carrierId=hereford-haulage&limit=1" \
    -H "Authorization: Bearer $RUTH"
# expect 200

# Owen finds it by the beginning of its name.
curl "$LOGISTICS/v1/organisations?query=hereford%20haul" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = hereford-haulage
# check [0].isKnown = true

# The next sheet needs no id: the name is that of exactly one organisation of the address book.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F dryRun=true \
    -F "file=@-;filename=next.csv;type=text/csv" <<CSV
reference,deliveryDateISO,commodityName,weight,carrierName
OD-$RUN-4,2026-03-21,Feed Barley,27,hereford haulage
CSV
# expect 200
# check count = 1

# The buyer moved a delivery and changed a weight. Owen mends his sheet, and imports it again: only these loads change.
curl "$LOGISTICS/v1/loads/batch" \
    -H "Authorization: Bearer $OWEN" \
    -F organisationId=border-grain \
    -F ifExists=update \
    -F matchBy=reference \
    -F dateOrder=auto \
    -F decimal=auto \
    -F "file=@-;filename=march.csv;type=text/csv" <<CSV
Our ref;Delivery date;Commodity;Weight (t);Haulier ID;Haulier
OD-$RUN-1;16/03/2026;Milling Wheat;28,5;hereford-haulage;Hereford Haulage
OD-$RUN-2;14/03/2026;Milling Wheat;29,5;hereford-haulage;Hereford Haulage
OD-$RUN-3;20/03/2026;Feed Barley;27;hereford-haulage;Hereford Haulage
CSV
# expect 200
# check count = 0
# check updated = 2
# check unchanged = 1

# The third load falls through.
curl "$LOGISTICS/v1/loads/$OFFICE_3/cancel" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"reason": "The buyer withdrew"}'
# expect 200
# check status = cancelled

# The buyer wants it after all: Owen undoes the cancellation.
curl "$LOGISTICS/v1/loads/$OFFICE_3/reopen" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"reason": "The buyer wants it after all"}'
# expect 200
# check status = upcoming

# He leaves a note for the haulier.
curl "$LOGISTICS/v1/loads/$OFFICE_3/notes" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"text": "The gate is locked: ring the farm first"}'
# expect 200
# check id is a UUID

# Ruth reads it.
curl "$LOGISTICS/v1/loads/$OFFICE_3/events?f:type=noted" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# check [0].text = The gate is locked: ring the farm first

# The tonnes of the month that the sheet brought, by commodity.
curl "$LOGISTICS/v1/loads/summary?groupBy=commodity&query=OD-$RUN&startDateISO=2026-03-01&endDateISO=2026-03-31" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check total.count = 3
# check total.weight = 85
# check groups[0].name = Milling Wheat
# check groups[0].weight = 58
