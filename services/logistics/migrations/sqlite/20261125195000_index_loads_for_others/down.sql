DROP INDEX loads_created_for_others;
