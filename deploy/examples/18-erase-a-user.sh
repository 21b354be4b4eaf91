# A user leaves and wants to be forgotten. What belongs to the business stays, without the name.

# Gwen registers with Penybont Farm and offers hay.
curl "$LIVESTOCK/v1/listings/feed" \
    -H "Authorization: Bearer $GWEN" \
    -H "Content-Type: application/json" \
    -d @- <<JSON
{
  "type": "selling",
  "isDraft": false,
  "categoryIds": [4],
  "location": null,
  "price": {"type": "poa"},
  "files": null,
  "description": "Hay in small bales.",
  "tags": ["$RUN"]
}
JSON
# expect 200
# keep HAY = id

# Anna exports what livestock holds about Gwen.
curl "$LIVESTOCK/v1/users/gwen/data" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# contains $HAY

# Nobody else may.
curl "$LIVESTOCK/v1/users/gwen/data" \
    -H "Authorization: Bearer $GWEN"
# expect 403 forbidden

# Anna erases Gwen. Each service has the operation; deploy/personal-data.sh calls all three.
curl -X POST "$LIVESTOCK/v1/users/gwen/erase" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check status = success

# The listing stays, without her name.
curl "$LIVESTOCK/v1/listings/$HAY/events" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check [0].userName = erased user

# Nothing is left to erase.
curl -X POST "$LIVESTOCK/v1/users/gwen/erase" \
    -H "Authorization: Bearer $ANNA"
# expect 200
# check count = 0
