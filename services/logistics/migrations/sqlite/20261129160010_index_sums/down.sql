DROP INDEX loads_without_commodity;
