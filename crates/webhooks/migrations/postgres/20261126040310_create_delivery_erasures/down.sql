DROP TABLE delivery_erasures;
