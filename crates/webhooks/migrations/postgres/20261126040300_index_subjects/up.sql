-- The deliveries about a load or listing, which an erasure of personal data rewrites in this order. The expressions are
-- those of the queries (personal_data.rs).
CREATE INDEX IF NOT EXISTS webhook_deliveries_subject ON webhook_deliveries
    ((COALESCE(body #>> '{data,load,id}', body #>> '{data,listing,id}')), webhook_id, id);
-- The deliveries about a saved search of a user.
CREATE INDEX IF NOT EXISTS webhook_deliveries_user ON webhook_deliveries ((body #>> '{data,userId}'), webhook_id, id)
    WHERE event = 'listing.matched';
