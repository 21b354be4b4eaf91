# Files can also be shared without a load or listing.

# Owen uploads his terms of trade.
curl "$SYSTEM/v1/files" \
    -H "Authorization: Bearer $OWEN" \
    -F bucket=files \
    -F type=trade-contract \
    -F "name=Terms of trade $RUN" \
    -F file=@deploy/examples/files/contract.pdf
# expect 200
# keep TERMS = id

# Owen shares them with Hereford Haulage.
curl "$SYSTEM/v1/files/resolve" \
    -H "Authorization: Bearer $OWEN" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{"ids": ["$TERMS"], "shareWith": ["hereford-haulage"]}
JSON
# expect 200
# check [0].id = $TERMS
# check [0].organisations[0] = hereford-haulage

# Ruth downloads them.
curl "$SYSTEM/v1/files/$TERMS" \
    -H "Authorization: Bearer $RUTH"
# expect 200
# same as deploy/examples/files/contract.pdf

# Owen archives them. Nothing is erased, but others can no longer download the file.
curl -X DELETE "$SYSTEM/v1/files/$TERMS" \
    -H "Authorization: Bearer $OWEN"
# expect 200

# The file is gone for Ruth.
curl "$SYSTEM/v1/files/$TERMS" \
    -H "Authorization: Bearer $RUTH"
# expect 404 not_found

# Its information stays.
curl "$SYSTEM/v1/files/$TERMS/info" \
    -H "Authorization: Bearer $OWEN"
# expect 200
# check status = archived
