-- The form in which similar references are equal: folded, only letters and digits, without leading zeros. NULL if it was
-- not filled in yet: the service does, since the previous release stores and changes loads without it.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS similarity_key TEXT COLLATE "C";

-- The previous release changes references without this form.
CREATE FUNCTION forget_similarity_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.similarity_key := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER loads_similarity_forgotten BEFORE UPDATE OF reference_key ON loads
    FOR EACH ROW WHEN (NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key)
    EXECUTE FUNCTION forget_similarity_key();
