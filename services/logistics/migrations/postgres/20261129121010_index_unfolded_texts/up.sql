-- Loads whose texts are not folded, because an older release stored or changed them. The condition is that of the query
-- (backfill.rs).
CREATE INDEX IF NOT EXISTS loads_unfolded ON loads (id) WHERE strpos(reference_key, chr(1)) = 0;
