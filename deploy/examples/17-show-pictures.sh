# Photographs are shown in browsers by signed links, also in smaller sizes.

# Owen stores a photograph of his lorry.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $OWEN" \
    -F bucket=images \
    -F type=misc \
    -F "name=Lorry $RUN" \
    -F file=@deploy/examples/files/signed-ticket.jpg
# expect 200
# keep PICTURE = id

# Owen looks for it by its name.
curl "$SYSTEM/v1/files?query=lorry%20$RUN&f:status=active" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check [0].id = $PICTURE

# Others do not find it.
curl "$SYSTEM/v1/files?query=lorry%20$RUN" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# is []

# Owen downloads a copy that is 160 pixels wide.
curl "$SYSTEM/v1/files/$PICTURE?width=160" \
    -H "Authorization: Bearer $OWEN" \
    -H "Accept: image/webp"
# expect 200
# header Content-Type: image/webp

# Owen makes a link for a page.
curl "$SYSTEM/v1/files/$PICTURE/link" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d '{"expiresInSeconds": 600, "width": 320}'
# expect 200
# keep LINK = url

# The page needs no token.
curl "$LINK" \
    -H "Accept: image/jpeg"
# expect 200
# header Content-Type: image/jpeg
# header Access-Control-Allow-Origin: *

# A link that was altered is refused.
curl "${LINK}x"
# expect 403 forbidden

# Ruth may not make links to the file.
curl -X POST "$SYSTEM/v1/files/$PICTURE/link" \
    -H "Authorization: Bearer $RUTH"
# expect 403 forbidden

# Owen archives the file. His links end at once.
curl -X DELETE "$SYSTEM/v1/files/$PICTURE" \
    -H "Authorization: Bearer $OWEN"
# expect 200

# The page gets nothing.
curl "$LINK"
# expect 404 not_found
