-- The form in which similar references are equal: folded, only letters and digits, without leading zeros. NULL if it was
-- not filled in yet: the service does, since the previous release stores and changes loads without it.
ALTER TABLE loads ADD COLUMN similarity_key TEXT;

-- The previous release changes references without this form.
CREATE TRIGGER loads_similarity_forgotten AFTER UPDATE OF reference_key ON loads
    WHEN NEW.reference_key <> OLD.reference_key AND NEW.similarity_key = OLD.similarity_key
BEGIN
    UPDATE loads SET similarity_key = NULL WHERE id = NEW.id;
END;
