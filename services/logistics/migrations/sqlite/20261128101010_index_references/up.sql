-- The loads of an organisation with a reference that is similar to one of a batch.
CREATE INDEX loads_similar ON loads (created_by, similarity_key) WHERE created_by IS NOT NULL;
CREATE INDEX loads_without_similarity ON loads (id) WHERE similarity_key IS NULL;
-- What a million loads of 200 organisations look like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_similar', '1000000 5000 1'),
    ('loads', 'loads_without_similarity', '1 1');
