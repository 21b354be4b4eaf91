DROP INDEX loads_without_similarity;
DROP INDEX loads_similar;
