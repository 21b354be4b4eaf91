DROP INDEX files_unfolded;
