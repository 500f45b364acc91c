//! CockroachDB: PostgreSQL's protocol and most of its words; no notifications. Emitted only: no server
//! of it was run.

use super::Statements;

pub(super) const STATEMENTS: Statements = Statements {
    up: &[
        "\
    CREATE TABLE IF NOT EXISTS eventlane_relay_outbox (
    id STRING NOT NULL PRIMARY KEY,
    topic STRING NOT NULL,
    payload STRING NOT NULL,
    status STRING NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts INT8 NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    lease_owner STRING NOT NULL DEFAULT '',
    lease_until TIMESTAMPTZ NOT NULL DEFAULT TIMESTAMPTZ '1970-01-01 00:00:00+00',
    delivered_at TIMESTAMPTZ,
    last_error STRING
)",
        "\
    CREATE INDEX IF NOT EXISTS eventlane_relay_due
    ON eventlane_relay_outbox (status, lease_until, created_at) WHERE status = 'pending'",
        "\
    CREATE INDEX IF NOT EXISTS eventlane_relay_oldest
    ON eventlane_relay_outbox (created_at, id) WHERE status = 'pending'",
        "\
    CREATE INDEX IF NOT EXISTS eventlane_relay_delivered
    ON eventlane_relay_outbox (delivered_at) WHERE status = 'delivered'",
        "\
    CREATE INDEX IF NOT EXISTS eventlane_relay_dead
    ON eventlane_relay_outbox (created_at, id) WHERE status = 'dead'",
    ],
    down: &["DROP TABLE IF EXISTS eventlane_relay_outbox"],
    insert: "\
    INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at)
    VALUES ($1, $2, $3, clock_timestamp())",
    insert_and_wake: None,
    candidates: "\
    SELECT id FROM eventlane_relay_outbox
    WHERE status = 'pending' AND lease_until <= now()
    ORDER BY created_at, id LIMIT $1",
    claim: "\
    UPDATE eventlane_relay_outbox
    SET lease_owner = $1, lease_until = clock_timestamp() + $2 * INTERVAL '1 millisecond'
    WHERE status = 'pending' AND lease_until <= clock_timestamp() AND id IN ({ids})",
    read_back: "\
    SELECT id, topic, payload, attempts::INT8, (EXTRACT(EPOCH FROM created_at) * 1000000)::INT8
    FROM eventlane_relay_outbox
    WHERE lease_owner = $1 AND status = 'pending' AND id IN ({ids})
    ORDER BY created_at, id",
    begin: "\
    UPDATE eventlane_relay_outbox
    SET attempts = attempts + 1, lease_until = clock_timestamp() + $1 * INTERVAL '1 millisecond'
    WHERE id = $2 AND lease_owner = $3 AND status = 'pending'",
    renew: "\
    UPDATE eventlane_relay_outbox
    SET lease_until = clock_timestamp() + $1 * INTERVAL '1 millisecond'
    WHERE lease_owner = $2 AND status = 'pending' AND id IN ({ids})",
    release: "\
    UPDATE eventlane_relay_outbox
    SET lease_owner = '', lease_until = clock_timestamp() + $1 * INTERVAL '1 millisecond'
    WHERE lease_owner = $2 AND status = 'pending' AND id IN ({ids})",
    delivered: "\
    UPDATE eventlane_relay_outbox
    SET status = 'delivered', delivered_at = clock_timestamp(), lease_owner = '', last_error = NULL
    WHERE id = $1 AND lease_owner = $2 AND status = 'pending'",
    failed: "\
    UPDATE eventlane_relay_outbox
    SET last_error = $1, attempts = attempts - $2::INT8, lease_owner = '',
        lease_until = clock_timestamp() + $3 * INTERVAL '1 millisecond'
    WHERE id = $4 AND lease_owner = $5 AND status = 'pending'",
    dead: "\
    UPDATE eventlane_relay_outbox
    SET status = 'dead', last_error = $1, lease_owner = ''
    WHERE id = $2 AND lease_owner = $3 AND status = 'pending'",
    purgeable: "\
    SELECT id FROM eventlane_relay_outbox
    WHERE status = 'delivered' AND delivered_at <= now() - $1 * INTERVAL '1 second'
    ORDER BY delivered_at LIMIT $2",
    purge: "\
    DELETE FROM eventlane_relay_outbox WHERE status = 'delivered' AND id IN ({ids})",
    pending: "\
    SELECT count(*), (EXTRACT(EPOCH FROM clock_timestamp() - min(created_at)) * 1000)::INT8
    FROM eventlane_relay_outbox WHERE status = 'pending'",
    dead_count: "SELECT count(*) FROM eventlane_relay_outbox WHERE status = 'dead'",
    dead_list: "\
    SELECT id, topic, attempts::INT8, (EXTRACT(EPOCH FROM created_at) * 1000000)::INT8, last_error,
        length(payload)::INT8
    FROM eventlane_relay_outbox
    WHERE status = 'dead' AND ($1 = '' OR topic = $2)
    ORDER BY created_at, id LIMIT $3",
    dead_one: "\
    SELECT id, topic, attempts::INT8, (EXTRACT(EPOCH FROM created_at) * 1000000)::INT8, last_error,
        length(payload)::INT8
    FROM eventlane_relay_outbox WHERE id = $1 AND status = 'dead'",
    replay: "\
    UPDATE eventlane_relay_outbox
    SET status = 'pending', attempts = 0, lease_owner = '',
        lease_until = TIMESTAMPTZ '1970-01-01 00:00:00+00', delivered_at = NULL, last_error = NULL
    WHERE id = $1 AND status = 'dead'",
    encoding: None,
};
