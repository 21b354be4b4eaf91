DROP TABLE spellings;
DROP INDEX listings_breed, listings_breed_type, listings_breed_society, listings_status_price, listings_status_age, listings_status_born,
    listings_status_quantity, listings_status_organisation, listings_status_place, listings_derived;
ALTER TABLE listings DROP COLUMN born, DROP COLUMN band, DROP COLUMN lon, DROP COLUMN x, DROP COLUMN y, DROP COLUMN z,
    DROP COLUMN derived;
