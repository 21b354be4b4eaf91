-- The previous release reads all listings at its next start, and writes a snapshot again.
SELECT 1;
