DROP INDEX loads_unfolded;
