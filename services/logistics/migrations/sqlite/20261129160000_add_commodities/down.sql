DROP TRIGGER loads_commodity_forgotten;
ALTER TABLE loads DROP COLUMN commodity_id;
