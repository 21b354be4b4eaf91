ALTER TABLE listings DROP COLUMN max_price, DROP COLUMN currency;
