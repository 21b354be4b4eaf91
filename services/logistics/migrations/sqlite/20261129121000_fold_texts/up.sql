-- References are keys for sorting with their folded form. Only the previous release changes them without the form in
-- which similar references are equal.
DROP TRIGGER loads_similarity_forgotten;
CREATE TRIGGER loads_similarity_forgotten AFTER UPDATE OF reference_key ON loads
    WHEN NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key
        AND instr(NEW.reference_key, char(1)) = 0
BEGIN
    UPDATE loads SET similarity_key = NULL WHERE id = NEW.id;
END;

