DROP TABLE organisation_blocks;
