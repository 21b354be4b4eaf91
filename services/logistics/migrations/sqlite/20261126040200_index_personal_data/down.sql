DROP INDEX load_events_driver;
DROP INDEX notifications_driver;
DROP INDEX loads_accepter;
DROP INDEX loads_creator;
