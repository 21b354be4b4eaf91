CREATE TABLE things (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    document JSON NOT NULL
);
