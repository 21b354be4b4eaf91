# needs 06

# Ruth uploads the signed ticket.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $RUTH" \
    -F bucket=images \
    -F type=weighbridge \
    -F "name=Signed ticket $RUN" \
    -F file=@deploy/examples/files/signed-ticket.jpg
# expect 200
# keep SIGNED = id
# check id is a UUID
# check info.contentType = image/jpeg

# Ruth proves the delivery of her load.
curl "$LOGISTICS/v1/loads/$LOAD/proof-of-delivery" \
    -H "Authorization: Bearer $RUTH" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "weightNet": 29.12,
  "ticketNumber": "WB-20417",
  "vehicleRegistration": "VX21 KLM",
  "files": [{"id": "$SIGNED"}]
}
JSON
# expect 200
# check status = completed

# Owen reads the completed load.
curl "$LOGISTICS/v1/loads/$LOAD" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check status = completed
# check weightNet.weight = 29.12
# check ticketNumber = WB-20417
# check vehicleRegistration = VX21 KLM
# check files[0].id = $TICKET
# check files[1].id = $SIGNED

# Owen opens the signed ticket.
curl "$SYSTEM/v1/files/$SIGNED" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# same as deploy/examples/files/signed-ticket.jpg

# Owen accepts the load, which a carrier entered for him. Only accepted loads are in his export.
curl -X POST "$LOGISTICS/v1/loads/$LOAD/accept" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check status = success

# Silas cannot read the load.
curl "$LOGISTICS/v1/loads/$LOAD" \
    -H "Authorization: Bearer $SILAS"
# expect 403 forbidden

# Silas cannot open the ticket.
curl "$SYSTEM/v1/files/$TICKET" \
    -H "Authorization: Bearer $SILAS"
# expect 403 forbidden

# Dai proves the delivery of Owen's load, which was sent to him.
curl "$LOGISTICS/v1/loads/proof-of-delivery" \
    -H "Authorization: Bearer $DAI" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "loadId": "$OWENS_LOAD",
  "weightNet": 27.9,
  "ticketNumber": "WB-20418",
  "vehicleRegistration": "cx70 dai",
  "files": null
}
JSON
# expect 200
# check status = completed
# check vehicleRegistration = CX70 DAI

# Dai sends the same proof again, unsure whether it arrived: nothing changes.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD/proof-of-delivery" \
    -H "Authorization: Bearer $DAI" \
    -H "Content-Type: application/json" \
    -d '{"weightNet": 27.9, "ticketNumber": "WB-20418", "vehicleRegistration": "CX70 DAI", "files": null}'
# expect 200
# check status = completed

# A different proof of the same load is refused.
curl "$LOGISTICS/v1/loads/$OWENS_LOAD/proof-of-delivery" \
    -H "Authorization: Bearer $DAI" \
    -H "Content-Type: application/json" \
    -d '{"weightNet": 26.5, "ticketNumber": "WB-20418", "vehicleRegistration": "CX70 DAI", "files": null}'
# expect 409 conflict

# Owen exports his completed loads as a spreadsheet.
curl "$LOGISTICS/v1/loads/completed" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# begins id,reference,status,
# contains HH-$RUN,completed
# contains WB-20418
