"""The tables of a log in PostgreSQL, as numbered migrations, and the procedures that write them.

Everything that locks what others wait for is one call of a procedure. It ends by a COMMIT of its
own: a service that stands still, or is cut off, never holds a lock while PostgreSQL waits for it.
"""

from __future__ import annotations

from greedyfirst.service.log.entries import GENESIS
from greedyfirst.service.log.table_reader import IS_AUDITED

#: PostgreSQL's code for a write whose lease is over.
LOST_LEASE = "GF001"
_SNAPSHOTS_KEPT = 4
_THE_LOG = f"""
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE entries (
    seq bigint PRIMARY KEY,
    at double precision NOT NULL,
    policy text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    step bigint,
    key text COLLATE "C",
    body bytea NOT NULL,
    seal bytea NOT NULL
);
CREATE INDEX entries_by_policy ON entries (policy, seq);
CREATE INDEX entries_by_step ON entries (policy, step) WHERE step IS NOT NULL;
CREATE UNIQUE INDEX entries_by_key ON entries (policy, key) WHERE key IS NOT NULL;
CREATE INDEX entries_not_daily ON entries (policy, seq) WHERE {IS_AUDITED};
CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('greedyfirst.erasing', true) = 'yes' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the log is append-only';
END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION entries_stay();
CREATE TABLE head (one boolean PRIMARY KEY CHECK (one), seq bigint NOT NULL, seal bytea NOT NULL);
INSERT INTO head VALUES (true, 0, '\\x{GENESIS.hex()}');
CREATE TABLE snapshots (
    policy text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (policy, seq)
);
CREATE TABLE access_keys (
    name text COLLATE "C" PRIMARY KEY,
    role text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    policies text,
    made double precision,
    expires double precision,
    last_used double precision,
    removed double precision,
    hash_before bytea,
    before_until double precision
);
CREATE TABLE key_changes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL
);
"""
_THE_LEASES = f"""
CREATE TABLE leases (
    policy text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    address text NOT NULL,
    epoch bigint NOT NULL,
    until timestamptz NOT NULL
);
CREATE PROCEDURE take_lease(
    of_policy text, by_owner text, at_address text, length interval, OUT new_epoch bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM head FOR UPDATE;
    INSERT INTO leases AS held
        VALUES (of_policy, by_owner, at_address, 1, clock_timestamp() + length)
        ON CONFLICT (policy) DO UPDATE SET owner = excluded.owner, address = excluded.address,
            epoch = held.epoch + 1, until = excluded.until
            WHERE held.until < clock_timestamp() OR held.owner = excluded.owner
        RETURNING epoch INTO new_epoch;
    COMMIT;
END $$;
CREATE FUNCTION check_leases(policies text[], epochs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lost text;
BEGIN
    SELECT held.policy INTO lost FROM unnest(policies, epochs) AS held (policy, epoch)
        LEFT JOIN leases USING (policy, epoch) WHERE leases.policy IS NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'policy % has another owner now', lost USING ERRCODE = '{LOST_LEASE}';
    END IF;
END $$;
"""
# The seal is that of entries.seal; numbers are in it with their lowest byte first.
_THE_WRITES = f"""
CREATE FUNCTION little_endian(word bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT {" || ".join(f"substr(word, {place}, 1)" for place in range(8, 0, -1))}
$$;
CREATE FUNCTION add_entries(
    owned text[], epochs bigint[],
    times float8[], policies text[], kinds text[], steps bigint[], keys text[], bodies bytea[],
    OUT last_seq bigint, OUT last_seal bytea
) LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
    seals bytea[];
BEGIN
    SELECT seq, seal INTO STRICT before, last_seal FROM head FOR UPDATE;
    PERFORM check_leases(owned, epochs);
    last_seq := before;
    FOR place IN 1 .. cardinality(times) LOOP
        last_seq := last_seq + 1;
        last_seal := sha256(
            last_seal || little_endian(int8send(last_seq))
            || little_endian(float8send(times[place]))
            || convert_to(policies[place], 'UTF8') || '\\x00'
            || convert_to(coalesce(keys[place], ''), 'UTF8') || '\\x00' || bodies[place]
        );
        seals[place] := last_seal;
    END LOOP;
    INSERT INTO entries SELECT before + row.place, time, policy, kind, step, key, body, seal
        FROM unnest(times, policies, kinds, steps, keys, bodies, seals)
        WITH ORDINALITY AS row (time, policy, kind, step, key, body, seal, place);
    UPDATE head SET seq = last_seq, seal = last_seal;
END $$;
CREATE PROCEDURE append_entries(
    owned text[], epochs bigint[],
    times float8[], policies text[], kinds text[], steps bigint[], keys text[], bodies bytea[],
    OUT last_seq bigint, OUT last_seal bytea
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO last_seq, last_seal
        FROM add_entries(owned, epochs, times, policies, kinds, steps, keys, bodies);
    COMMIT;
END $$;
CREATE PROCEDURE erase_entry(
    erased_seq bigint, new_body bytea, owned text[], epochs bigint[],
    times float8[], policies text[], kinds text[], steps bigint[], keys text[], bodies bytea[],
    OUT last_seq bigint, OUT last_seal bytea
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO last_seq, last_seal
        FROM add_entries(owned, epochs, times, policies, kinds, steps, keys, bodies);
    PERFORM set_config('greedyfirst.erasing', 'yes', true);
    UPDATE entries SET body = new_body WHERE seq = erased_seq;
    PERFORM set_config('greedyfirst.erasing', 'no', true);
    DELETE FROM snapshots WHERE policy = ANY (policies);
    COMMIT;
END $$;
CREATE PROCEDURE save_snapshot(of_policy text, of_epoch bigint, after_seq bigint, state bytea)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM leases WHERE policy = of_policy FOR SHARE;
    PERFORM check_leases(ARRAY[of_policy], ARRAY[of_epoch]);
    INSERT INTO snapshots VALUES (of_policy, after_seq, state)
        ON CONFLICT (policy, seq) DO UPDATE SET content = excluded.content;
    DELETE FROM snapshots WHERE policy = of_policy AND seq NOT IN (
        SELECT seq FROM snapshots WHERE policy = of_policy
        ORDER BY seq DESC LIMIT {_SNAPSHOTS_KEPT}
    );
    COMMIT;
END $$;
"""
_THE_SESSIONS = """
CREATE TABLE sessions (
    token bytea PRIMARY KEY,
    key bytea NOT NULL,
    began timestamptz NOT NULL,
    used timestamptz NOT NULL
);
"""
# An erasure changes all entries that follow from what it removes.
_THE_ERASURES = """
CREATE PROCEDURE erase_entries(
    erased bigint[], new_bodies bytea[], owned text[], epochs bigint[],
    times float8[], policies text[], kinds text[], steps bigint[], keys text[], bodies bytea[],
    OUT last_seq bigint, OUT last_seal bytea
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO last_seq, last_seal
        FROM add_entries(owned, epochs, times, policies, kinds, steps, keys, bodies);
    PERFORM set_config('greedyfirst.erasing', 'yes', true);
    UPDATE entries SET body = left_over.body
        FROM unnest(erased, new_bodies) AS left_over (seq, body)
        WHERE entries.seq = left_over.seq;
    PERFORM set_config('greedyfirst.erasing', 'no', true);
    DELETE FROM snapshots WHERE policy = ANY (policies);
    COMMIT;
END $$;
"""
#: From an empty schema to this release's, one after the other.
MIGRATIONS = (_THE_LOG, _THE_LEASES, _THE_WRITES, _THE_SESSIONS, _THE_ERASURES)
