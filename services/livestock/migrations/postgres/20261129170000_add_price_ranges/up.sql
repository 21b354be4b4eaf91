-- The highest amount of a price in ten-thousandths, and the ISO 4217 code of its amounts, for the statistics of a
-- search. The service fills in present rows.
ALTER TABLE listings ADD COLUMN max_price BIGINT, ADD COLUMN currency TEXT COLLATE "C";
