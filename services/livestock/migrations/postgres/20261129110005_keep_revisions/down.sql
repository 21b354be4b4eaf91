DROP TRIGGER listings_without_revision ON listings;
DROP FUNCTION rebuild_listing_without_revision();
