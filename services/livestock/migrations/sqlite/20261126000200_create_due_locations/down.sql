DROP TABLE due_locations;
