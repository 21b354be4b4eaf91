DROP INDEX loads_without_commodity;
DROP INDEX loads_carrier_sums;
DROP INDEX loads_organiser_sums;
