DROP TABLE link_keys;
