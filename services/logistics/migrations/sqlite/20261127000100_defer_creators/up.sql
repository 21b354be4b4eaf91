-- The loads that each user created, for the export and the erasure of personal data. The service adds loads when it puts
-- them into the full-text index: those in loads_unindexed may be missing here. An index of the table loads would cost a
-- tenth of each create, because each user's loads end in another page of it.
CREATE TABLE load_creators (
    creator_id TEXT NOT NULL,
    load_id BLOB NOT NULL,
    PRIMARY KEY (creator_id, load_id)
) STRICT, WITHOUT ROWID;
INSERT INTO load_creators SELECT creator_id, id FROM loads WHERE creator_id IS NOT NULL ORDER BY creator_id, id;
DROP INDEX loads_creator;
