DROP FUNCTION insert_spellings(TEXT[], TEXT[]);
