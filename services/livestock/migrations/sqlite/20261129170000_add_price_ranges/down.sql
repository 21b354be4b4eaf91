ALTER TABLE listings DROP COLUMN max_price;
ALTER TABLE listings DROP COLUMN currency;
