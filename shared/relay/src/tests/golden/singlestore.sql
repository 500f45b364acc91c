-- up
CREATE ROWSTORE TABLE IF NOT EXISTS eventlane_relay_outbox (
    id VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    payload MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    status VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
    attempts INT NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL,
    lease_owner VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    lease_until DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
    delivered_at DATETIME(6) NULL,
    last_error TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    PRIMARY KEY (id),
    INDEX eventlane_relay_due (status, lease_until, created_at),
    INDEX eventlane_relay_oldest (status, created_at, id),
    INDEX eventlane_relay_delivered (status, delivered_at)
);

-- down
DROP TABLE IF EXISTS eventlane_relay_outbox;

-- insert
INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at)
    VALUES (?, ?, ?, UTC_TIMESTAMP(6));

-- candidates
SELECT id FROM eventlane_relay_outbox
    WHERE status = 'pending' AND lease_until <= UTC_TIMESTAMP(6)
    ORDER BY created_at, id LIMIT ?;

-- claim (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = ?, lease_until = DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ? * 1000 MICROSECOND)
    WHERE status = 'pending' AND lease_until <= UTC_TIMESTAMP(6) AND id IN (?, ?, ?);

-- read_back (of three)
SELECT id, topic, payload, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at)
    FROM eventlane_relay_outbox
    WHERE lease_owner = ? AND status = 'pending' AND id IN (?, ?, ?)
    ORDER BY created_at, id;

-- begin
UPDATE eventlane_relay_outbox
    SET attempts = attempts + 1, lease_until = DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ? * 1000 MICROSECOND)
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- renew (of three)
UPDATE eventlane_relay_outbox
    SET lease_until = DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ? * 1000 MICROSECOND)
    WHERE lease_owner = ? AND status = 'pending' AND id IN (?, ?, ?);

-- release (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = '', lease_until = DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ? * 1000 MICROSECOND)
    WHERE lease_owner = ? AND status = 'pending' AND id IN (?, ?, ?);

-- delivered
UPDATE eventlane_relay_outbox
    SET status = 'delivered', delivered_at = UTC_TIMESTAMP(6), lease_owner = '', last_error = NULL
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- failed
UPDATE eventlane_relay_outbox
    SET last_error = ?, attempts = attempts - ?, lease_owner = '',
        lease_until = DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ? * 1000 MICROSECOND)
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- dead
UPDATE eventlane_relay_outbox
    SET status = 'dead', last_error = ?, lease_owner = ''
    WHERE id = ? AND lease_owner = ? AND status = 'pending';

-- purgeable
SELECT id FROM eventlane_relay_outbox
    WHERE status = 'delivered' AND delivered_at <= DATE_SUB(UTC_TIMESTAMP(6), INTERVAL ? SECOND)
    ORDER BY delivered_at LIMIT ?;

-- purge (of three)
DELETE FROM eventlane_relay_outbox WHERE status = 'delivered' AND id IN (?, ?, ?);

-- pending
SELECT COUNT(*), TIMESTAMPDIFF(MICROSECOND, MIN(created_at), UTC_TIMESTAMP(6)) DIV 1000
    FROM eventlane_relay_outbox WHERE status = 'pending';

-- dead_count
SELECT COUNT(*) FROM eventlane_relay_outbox WHERE status = 'dead';

-- dead_list
SELECT id, topic, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at), last_error,
        CHAR_LENGTH(payload)
    FROM eventlane_relay_outbox
    WHERE status = 'dead' AND (? = '' OR topic = ?)
    ORDER BY created_at, id LIMIT ?;

-- dead_one
SELECT id, topic, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at), last_error,
        CHAR_LENGTH(payload)
    FROM eventlane_relay_outbox WHERE id = ? AND status = 'dead';

-- replay
UPDATE eventlane_relay_outbox
    SET status = 'pending', attempts = 0, lease_owner = '',
        lease_until = '1970-01-01 00:00:00.000000', delivered_at = NULL, last_error = NULL
    WHERE id = ? AND status = 'dead';

