DELETE FROM loads WHERE n IN (SELECT n FROM staged_loads WHERE import_id IN (SELECT id FROM running_imports));
DROP TABLE staged_loads;
DROP TABLE running_imports;
