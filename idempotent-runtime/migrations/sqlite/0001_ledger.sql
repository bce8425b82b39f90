-- idempotent-runtime, version 1. Times are milliseconds since 1970, UTC.
CREATE TABLE IF NOT EXISTS idempotent_keys (
  key         TEXT    NOT NULL PRIMARY KEY,  -- as encoded: ASCII, at most 255 bytes
  job         TEXT    NOT NULL,
  inputs      TEXT,                          -- fingerprints by name, a JSON object
  status      INTEGER NOT NULL,              -- 0 running, 1 done, 2 in doubt
  owner       BLOB    NOT NULL,              -- 16 random bytes, new for each attempt
  fence       INTEGER NOT NULL,              -- grows with each takeover
  attempts    INTEGER NOT NULL,
  lease_until INTEGER,                       -- NULL: not a leased job's
  result      BLOB,
  last_error  TEXT,                          -- how the last attempt ended, no values
  first_at    INTEGER NOT NULL,
  claimed_at  INTEGER NOT NULL,
  finished_at INTEGER,
  forget_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS idempotent_keys_forget
  ON idempotent_keys (forget_at) WHERE forget_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS idempotent_steps (
  key    TEXT    NOT NULL,
  name   TEXT    NOT NULL,
  result BLOB    NOT NULL,
  fence  INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (key, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS idempotent_meta (
  version INTEGER NOT NULL
) STRICT;

INSERT INTO idempotent_meta (version)
  SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM idempotent_meta);
