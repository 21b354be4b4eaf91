# Ruth of Hereford Haulage stores a photograph of the weighbridge ticket. Loads refer to files by their ids.

# Ruth uploads the weighbridge ticket.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $RUTH" \
    -F bucket=images \
    -F type=weighbridge \
    -F "name=Weighbridge ticket $RUN" \
    -F file=@deploy/examples/files/weighbridge-ticket.jpg
# expect 200
# keep TICKET = id
# check id is a UUID
# check status = active
# check type = weighbridge
# check organisationId = hereford-haulage
# check info.name = Weighbridge ticket $RUN
# check info.contentType = image/jpeg
# check info.url = $SYSTEM/v1/files/$TICKET

# Ruth reads the information on the ticket.
curl "$SYSTEM/v1/files/$TICKET/info" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# keep UPLOADED_AT = createdAtUTC
# check userName = Ruth
# check organisations = []

# Ruth downloads the ticket.
curl "$SYSTEM/v1/files/$TICKET" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# header Content-Type: image/jpeg
# same as deploy/examples/files/weighbridge-ticket.jpg

# Owen cannot open the ticket: it is not shared with his organisation.
curl "$SYSTEM/v1/files/$TICKET" \
    -H "Authorization: Bearer $OWEN"
# expect 403 forbidden
