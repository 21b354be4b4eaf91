-- References are keys for sorting with their folded form. Only the previous release changes them without the form in
-- which similar references are equal.
DROP TRIGGER loads_similarity_forgotten ON loads;
CREATE TRIGGER loads_similarity_forgotten BEFORE UPDATE OF reference_key ON loads
    FOR EACH ROW WHEN (NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key
        AND strpos(NEW.reference_key, chr(1)) = 0)
    EXECUTE FUNCTION forget_similarity_key();
