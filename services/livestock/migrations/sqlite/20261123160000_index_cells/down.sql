DROP INDEX listings_breed_cell;
DROP INDEX listings_status_cell;
