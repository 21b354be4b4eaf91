-- Files whose names are not folded, because an older release stored them. The condition is that of the query
-- (files/search/store.rs).
CREATE INDEX files_unfolded ON files (id) WHERE coalesce(instr(name_key, char(1)), 0) = 0;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('files', 'files_unfolded', '1 1');
