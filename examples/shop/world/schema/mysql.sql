-- A month is short text, for MySQL indexes no long one. REFERENCES beside a column
-- would be ignored by MySQL, without a word.
CREATE TABLE users (
  id                 bigint AUTO_INCREMENT PRIMARY KEY,
  email              varchar(200) NOT NULL,
  welcome_email_sent boolean NOT NULL DEFAULT FALSE
) ENGINE = InnoDB;
CREATE TABLE orders (
  id    bigint AUTO_INCREMENT PRIMARY KEY,
  total bigint NOT NULL,
  paid  boolean NOT NULL DEFAULT FALSE
) ENGINE = InnoDB;
CREATE TABLE payments (
  id        bigint AUTO_INCREMENT PRIMARY KEY,
  order_id  bigint NOT NULL,
  charge_id varchar(200) NOT NULL,
  FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB;
CREATE TABLE invoices (
  id       bigint AUTO_INCREMENT PRIMARY KEY,
  order_id bigint NOT NULL,
  month    varchar(20) NOT NULL,
  total    bigint NOT NULL,
  UNIQUE (order_id, month),
  FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB;
-- The same without its constraint: what the naive jobs write to.
CREATE TABLE naive_invoices (
  id       bigint AUTO_INCREMENT PRIMARY KEY,
  order_id bigint NOT NULL,
  month    varchar(20) NOT NULL,
  total    bigint NOT NULL,
  FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB;
CREATE TABLE signups (
  id         bigint AUTO_INCREMENT PRIMARY KEY,
  email      varchar(200) NOT NULL,
  account_id bigint
) ENGINE = InnoDB;
CREATE TABLE accounts (
  id        bigint AUTO_INCREMENT PRIMARY KEY,
  signup_id bigint NOT NULL,
  email     varchar(200) NOT NULL,
  FOREIGN KEY (signup_id) REFERENCES signups (id)
) ENGINE = InnoDB;
ALTER TABLE signups ADD FOREIGN KEY (account_id) REFERENCES accounts (id);
