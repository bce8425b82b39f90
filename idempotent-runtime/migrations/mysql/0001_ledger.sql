-- idempotent-runtime, version 1. Times are UTC. Text is kept as bytes: no collation may merge keys.
CREATE TABLE IF NOT EXISTS idempotent_keys (
  `key`       VARBINARY(255) NOT NULL PRIMARY KEY,  -- as encoded: ASCII, at most 255 bytes
  job         BLOB           NOT NULL,
  inputs      BLOB,                                 -- fingerprints by name, a JSON object
  status      SMALLINT       NOT NULL,              -- 0 running, 1 done, 2 in doubt, 3 reserved
  owner       VARBINARY(16)  NOT NULL,              -- random, new for each attempt
  fence       BIGINT         NOT NULL,              -- grows with each takeover
  attempts    INT            NOT NULL,
  lease_until DATETIME(6)    NULL,                  -- NULL: not a leased job's
  result      LONGBLOB,
  last_error  BLOB,                                 -- how the last attempt ended, no values
  first_at    DATETIME(6)    NOT NULL,
  claimed_at  DATETIME(6)    NOT NULL,
  finished_at DATETIME(6)    NULL,
  forget_at   DATETIME(6)    NULL,
  KEY idempotent_keys_forget (forget_at)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS idempotent_steps (
  `key`  VARBINARY(255) NOT NULL,
  name   VARBINARY(255) NOT NULL,
  result LONGBLOB       NOT NULL,
  fence  BIGINT         NOT NULL,
  at     DATETIME(6)    NOT NULL,
  PRIMARY KEY (`key`, name)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS idempotent_meta (
  version INT NOT NULL PRIMARY KEY
) ENGINE=InnoDB;

INSERT INTO idempotent_meta (version)
  SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM idempotent_meta);
