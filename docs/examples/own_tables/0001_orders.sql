CREATE TABLE orders (
    id integer NOT NULL PRIMARY KEY,
    units integer NOT NULL
);
