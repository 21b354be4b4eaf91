DROP TABLE wishlists;
