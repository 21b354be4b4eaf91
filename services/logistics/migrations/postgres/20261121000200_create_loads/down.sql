DROP TABLE loads;
