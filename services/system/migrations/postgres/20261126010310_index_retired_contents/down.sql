DROP INDEX contents_retired;
