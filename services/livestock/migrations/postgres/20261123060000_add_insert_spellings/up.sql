-- Inserts the terms that are missing, in one round trip, and returns their number. The terms are in ascending order, so
-- that concurrent transactions cannot deadlock. At REPEATABLE READ, ON CONFLICT DO NOTHING fails if another transaction
-- inserted the term after this one began. Nothing is left to do then: only the block is undone, and the transaction
-- need not run again.
CREATE FUNCTION insert_spellings(terms TEXT[], new_spellings TEXT[]) RETURNS INTEGER LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE inserted INTEGER := 0;
BEGIN
    FOR i IN 1 .. cardinality(terms) LOOP
        CONTINUE WHEN EXISTS (SELECT FROM spellings WHERE term = terms[i]);
        BEGIN
            INSERT INTO spellings (term, spelling) VALUES (terms[i], new_spellings[i]) ON CONFLICT DO NOTHING;
            inserted := inserted + 1;
        EXCEPTION WHEN serialization_failure THEN NULL;
        END;
    END LOOP;
    RETURN inserted;
END $$;
