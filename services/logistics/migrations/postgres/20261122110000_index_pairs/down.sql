DROP INDEX loads_pair;
