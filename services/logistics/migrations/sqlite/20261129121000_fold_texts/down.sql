DROP TRIGGER loads_similarity_forgotten;
CREATE TRIGGER loads_similarity_forgotten AFTER UPDATE OF reference_key ON loads
    WHEN NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key
BEGIN
    UPDATE loads SET similarity_key = NULL WHERE id = NEW.id;
END;
