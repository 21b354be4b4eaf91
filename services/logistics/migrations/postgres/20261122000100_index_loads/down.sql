-- The extension stays: others may use it.
DROP INDEX loads_search_text;
DROP INDEX loads_organiser_status;
DROP INDEX loads_carrier_status;
DROP INDEX loads_organiser_completed;
DROP INDEX loads_carrier_completed;
DROP INDEX loads_completed;
