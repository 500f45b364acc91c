-- up
CREATE TABLE IF NOT EXISTS eventlane_relay_outbox (
    id TEXT NOT NULL PRIMARY KEY CHECK (typeof(id) = 'text'),
    topic TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z',
    delivered_at TEXT,
    last_error TEXT
);

-- up
CREATE INDEX IF NOT EXISTS eventlane_relay_due
    ON eventlane_relay_outbox (status, lease_until, created_at) WHERE status = 'pending';

-- up
CREATE INDEX IF NOT EXISTS eventlane_relay_oldest
    ON eventlane_relay_outbox (created_at, id) WHERE status = 'pending';

-- up
CREATE INDEX IF NOT EXISTS eventlane_relay_delivered
    ON eventlane_relay_outbox (delivered_at) WHERE status = 'delivered';

-- up
CREATE INDEX IF NOT EXISTS eventlane_relay_dead
    ON eventlane_relay_outbox (created_at, id) WHERE status = 'dead';

-- down
DROP TABLE IF EXISTS eventlane_relay_outbox;

-- insert
INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at)
    VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));

-- candidates
SELECT id FROM eventlane_relay_outbox INDEXED BY eventlane_relay_oldest
    WHERE status = 'pending' AND lease_until <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    ORDER BY created_at, id LIMIT ?;

-- claim (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = ?, lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', ? / 1000.0))
    WHERE +status = 'pending' AND +lease_until <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
        AND id IN (?, ?, ?);

-- read_back (of three)
SELECT id, topic, payload, attempts,
        CAST(strftime('%s', created_at) AS INTEGER) * 1000000
        + CAST(substr(created_at, 21, 3) AS INTEGER) * 1000
    FROM eventlane_relay_outbox
    WHERE lease_owner = ? AND +status = 'pending' AND id IN (?, ?, ?)
    ORDER BY created_at, id;

-- begin
UPDATE eventlane_relay_outbox
    SET attempts = attempts + 1, lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', ? / 1000.0))
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- renew (of three)
UPDATE eventlane_relay_outbox
    SET lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', ? / 1000.0))
    WHERE lease_owner = ? AND +status = 'pending' AND id IN (?, ?, ?);

-- release (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = '', lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', ? / 1000.0))
    WHERE lease_owner = ? AND +status = 'pending' AND id IN (?, ?, ?);

-- delivered
UPDATE eventlane_relay_outbox
    SET status = 'delivered', delivered_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lease_owner = '',
        last_error = NULL
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- failed
UPDATE eventlane_relay_outbox
    SET last_error = ?, attempts = attempts - ?, lease_owner = '',
        lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', ? / 1000.0))
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- dead
UPDATE eventlane_relay_outbox
    SET status = 'dead', last_error = ?, lease_owner = ''
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- purgeable
SELECT id FROM eventlane_relay_outbox
    WHERE status = 'delivered'
        AND delivered_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('-%d seconds', ?))
    ORDER BY delivered_at LIMIT ?;

-- purge (of three)
DELETE FROM eventlane_relay_outbox WHERE +status = 'delivered' AND id IN (?, ?, ?);

-- pending
SELECT count(*),
        CAST(round((julianday('now') - julianday(min(created_at))) * 86400000) AS INTEGER)
    FROM eventlane_relay_outbox WHERE status = 'pending';

-- dead_count
SELECT count(*) FROM eventlane_relay_outbox WHERE status = 'dead';

-- dead_list
SELECT id, topic, attempts,
        CAST(strftime('%s', created_at) AS INTEGER) * 1000000
        + CAST(substr(created_at, 21, 3) AS INTEGER) * 1000,
        last_error, length(payload)
    FROM eventlane_relay_outbox
    WHERE status = 'dead' AND (? = '' OR topic = ?)
    ORDER BY created_at, id LIMIT ?;

-- dead_one
SELECT id, topic, attempts,
        CAST(strftime('%s', created_at) AS INTEGER) * 1000000
        + CAST(substr(created_at, 21, 3) AS INTEGER) * 1000,
        last_error, length(payload)
    FROM eventlane_relay_outbox WHERE id = ? AND status = 'dead';

-- replay
UPDATE eventlane_relay_outbox
    SET status = 'pending', attempts = 0, lease_owner = '', lease_until = '1970-01-01T00:00:00.000Z',
        delivered_at = NULL, last_error = NULL
    WHERE id = ? AND status = 'dead';

