DROP TABLE IF EXISTS driver_sendings;
