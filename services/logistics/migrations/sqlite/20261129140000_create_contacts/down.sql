DROP TABLE IF EXISTS contacts_position;
DROP TABLE IF EXISTS contacts;
DROP TABLE IF EXISTS known_callers;
