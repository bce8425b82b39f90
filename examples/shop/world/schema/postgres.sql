CREATE TABLE users (
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email              text NOT NULL,
  welcome_email_sent boolean NOT NULL DEFAULT FALSE
);
CREATE TABLE orders (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  total bigint NOT NULL,
  paid  boolean NOT NULL DEFAULT FALSE
);
CREATE TABLE payments (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id  bigint NOT NULL REFERENCES orders,
  charge_id text NOT NULL
);
CREATE TABLE invoices (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id bigint NOT NULL REFERENCES orders,
  month    text NOT NULL,
  total    bigint NOT NULL,
  UNIQUE (order_id, month)
);
-- The same without its constraint: what the naive jobs write to.
CREATE TABLE naive_invoices (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id bigint NOT NULL REFERENCES orders,
  month    text NOT NULL,
  total    bigint NOT NULL
);
CREATE TABLE signups (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email      text NOT NULL,
  account_id bigint
);
CREATE TABLE accounts (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  signup_id bigint NOT NULL REFERENCES signups,
  email     text NOT NULL
);
ALTER TABLE signups ADD FOREIGN KEY (account_id) REFERENCES accounts;
