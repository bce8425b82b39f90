-- idempotent-runtime, version 1. For PostgreSQL 13 or later.
CREATE TABLE IF NOT EXISTS idempotent_keys (
  key         text COLLATE "C" NOT NULL PRIMARY KEY,  -- as encoded: ASCII, at most 255 bytes
  job         text COLLATE "C" NOT NULL,
  inputs      text,                                   -- fingerprints by name, a JSON object
  status      smallint    NOT NULL,                   -- 0 running, 1 done, 2 in doubt
  owner       bytea       NOT NULL,                   -- 16 random bytes, new for each attempt
  fence       bigint      NOT NULL,                   -- grows with each takeover
  attempts    integer     NOT NULL,
  lease_until timestamptz,                            -- NULL: not a leased job's
  result      bytea,                                  -- bytes: a LATIN1 database has no text for all
  last_error  text,                                   -- how the last attempt ended, no values
  first_at    timestamptz NOT NULL,
  claimed_at  timestamptz NOT NULL,
  finished_at timestamptz,
  forget_at   timestamptz
) WITH (fillfactor = 80);                             -- room for a completion next to its claim

CREATE INDEX IF NOT EXISTS idempotent_keys_forget
  ON idempotent_keys (forget_at) WHERE forget_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS idempotent_steps (
  key    text COLLATE "C" NOT NULL,
  name   text COLLATE "C" NOT NULL,
  result bytea       NOT NULL,
  fence  bigint      NOT NULL,
  at     timestamptz NOT NULL,
  PRIMARY KEY (key, name)
);

CREATE TABLE IF NOT EXISTS idempotent_meta (
  version integer NOT NULL
);

INSERT INTO idempotent_meta (version)
  SELECT 1 WHERE NOT EXISTS (SELECT FROM idempotent_meta);
