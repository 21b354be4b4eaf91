DROP INDEX loads_organiser_accepted;
DROP INDEX loads_without_creator;
ALTER TABLE loads DROP COLUMN accepted_by;
ALTER TABLE loads DROP COLUMN accepted_at;
ALTER TABLE loads DROP COLUMN awaits_acceptance;
ALTER TABLE loads DROP COLUMN created_by;
