-- Files whose names are not folded, because an older release stored them. The condition is that of the query
-- (files/search/store.rs).
CREATE INDEX IF NOT EXISTS files_unfolded ON files (id) WHERE coalesce(strpos(name_key, chr(1)), 0) = 0;
