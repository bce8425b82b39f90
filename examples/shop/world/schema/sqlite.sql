-- AUTOINCREMENT: ids are never used twice, so a file can serve several runs, and
-- the id of a user who is gone stays free.
CREATE TABLE IF NOT EXISTS users (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  email              TEXT NOT NULL,
  welcome_email_sent INTEGER NOT NULL DEFAULT FALSE
) STRICT;
CREATE TABLE IF NOT EXISTS orders (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  total INTEGER NOT NULL,
  paid  INTEGER NOT NULL DEFAULT FALSE
) STRICT;
CREATE TABLE IF NOT EXISTS payments (
  id        INTEGER PRIMARY KEY,
  order_id  INTEGER NOT NULL REFERENCES orders,
  charge_id TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS invoices (
  id       INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders,
  month    TEXT NOT NULL,
  total    INTEGER NOT NULL,
  UNIQUE (order_id, month)
) STRICT;
-- The same without its constraint: what the naive jobs write to.
CREATE TABLE IF NOT EXISTS naive_invoices (
  id       INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders,
  month    TEXT NOT NULL,
  total    INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS signups (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  email      TEXT NOT NULL,
  account_id INTEGER REFERENCES accounts
) STRICT;
CREATE TABLE IF NOT EXISTS accounts (
  id        INTEGER PRIMARY KEY,
  signup_id INTEGER NOT NULL REFERENCES signups,
  email     TEXT NOT NULL
) STRICT;
