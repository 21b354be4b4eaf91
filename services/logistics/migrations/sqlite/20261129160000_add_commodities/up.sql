-- The id of the commodity. NULL if it was not filled in yet: the service does, since the previous release stores and
-- changes loads without it.
ALTER TABLE loads ADD COLUMN commodity_id INTEGER;

-- The previous release changes commodities without their ids.
CREATE TRIGGER loads_commodity_forgotten AFTER UPDATE OF commodity_key ON loads
    WHEN NEW.commodity_key <> OLD.commodity_key AND NEW.commodity_id = OLD.commodity_id
BEGIN
    UPDATE loads SET commodity_id = NULL WHERE id = NEW.id;
END;
