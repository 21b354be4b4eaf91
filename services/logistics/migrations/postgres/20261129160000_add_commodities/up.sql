-- The id of the commodity. NULL if it was not filled in yet: the service does, since the previous release stores and
-- changes loads without it.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS commodity_id INTEGER;

-- The previous release changes commodities without their ids.
CREATE FUNCTION forget_commodity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.commodity_id := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER loads_commodity_forgotten BEFORE UPDATE OF commodity_key ON loads
    FOR EACH ROW WHEN (NEW.commodity_key <> OLD.commodity_key AND NEW.commodity_id = OLD.commodity_id)
    EXECUTE FUNCTION forget_commodity();
