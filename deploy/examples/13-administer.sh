# needs 06
# needs 10

# Anna reads the reports of a listing.
curl "$LIVESTOCK/v1/listings/$DRAFT/reports" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check [0].userId = silas
# check [0].reason = misleading

# Anna reads what happened to the listing.
curl "$LIVESTOCK/v1/listings/$DRAFT/events" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check [0].to = draft
# check [1].to = active
# check [2].to = sold

# Anna has a notification delivered again.
curl -X POST "$LOGISTICS/v1/loads/$OWENS_LOAD/notifications/$NOTIFICATION/redeliver" \
    -H "Authorization: Bearer $ANNA"
# expect 200

# Anna clears the cache of locations.
curl "$SYSTEM/v1/cache" \
    -H "Authorization: Bearer $ANNA" \
    -H "Content-Type: application/json" \
    -d '{"prefixes": ["location:"]}'
# expect 200
# check status = success

# Anna reads the settings of logistics.
curl "$LOGISTICS/v1/settings" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# keep LEVEL = logging.level

# Ruth may not.
curl "$LOGISTICS/v1/settings" \
    -H "Authorization: Bearer $RUTH"
# expect 403 forbidden
