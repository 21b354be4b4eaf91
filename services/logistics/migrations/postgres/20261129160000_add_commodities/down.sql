DROP TRIGGER loads_commodity_forgotten ON loads;
DROP FUNCTION forget_commodity;
ALTER TABLE loads DROP COLUMN commodity_id;
