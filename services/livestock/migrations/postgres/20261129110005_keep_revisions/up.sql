-- Documents show their revision. Replicas of the previous release write them without: the service rebuilds such rows.
CREATE FUNCTION rebuild_listing_without_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.derived := least(NEW.derived, 4);
    RETURN NEW;
END $$;
CREATE TRIGGER listings_without_revision BEFORE UPDATE OF document ON listings
    FOR EACH ROW WHEN ((NEW.document -> 'revision') IS NULL)
    EXECUTE FUNCTION rebuild_listing_without_revision();
