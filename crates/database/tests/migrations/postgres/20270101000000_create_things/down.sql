DROP TABLE counters;
DROP TABLE things;
