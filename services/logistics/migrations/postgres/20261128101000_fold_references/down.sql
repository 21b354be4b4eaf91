DROP TRIGGER loads_similarity_forgotten ON loads;
DROP FUNCTION forget_similarity_key;
ALTER TABLE loads DROP COLUMN similarity_key;
