DROP TRIGGER loads_similarity_forgotten;
ALTER TABLE loads DROP COLUMN similarity_key;
