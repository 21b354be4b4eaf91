DROP TABLE load_drivers;
