DROP TRIGGER loads_similarity_forgotten ON loads;
CREATE TRIGGER loads_similarity_forgotten BEFORE UPDATE OF reference_key ON loads
    FOR EACH ROW WHEN (NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key)
    EXECUTE FUNCTION forget_similarity_key();
