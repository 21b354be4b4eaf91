-- The drivers to whom a load was sent: they may read it and prove its delivery.
CREATE TABLE load_drivers (
    load_id UUID NOT NULL,
    driver_id TEXT NOT NULL,
    PRIMARY KEY (load_id, driver_id)
);
