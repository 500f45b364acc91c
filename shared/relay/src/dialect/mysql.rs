//! MySQL and MariaDB. Times are `DATETIME(3)` in UTC by `UTC_TIMESTAMP(3)`, which no session's time
//! zone changes; without its `(3)` a lease would be cut to whole seconds. There are no partial
//! indexes, so the indexes lead with `status`. Every update and deletion goes by the primary key, so
//! that none waits for, or locks, a row that it doesn't mean: a scan would wait for every open insert. Every comparison of texts is by bytes.

use super::Statements;

pub(super) const STATEMENTS: Statements = Statements {
    up: &["\
    CREATE TABLE IF NOT EXISTS eventlane_relay_outbox (
    id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    payload MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
    attempts INT NOT NULL DEFAULT 0,
    created_at DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
    lease_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until DATETIME(3) NOT NULL DEFAULT '1970-01-01 00:00:00.000',
    delivered_at DATETIME(3) NULL,
    last_error TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    PRIMARY KEY (id),
    INDEX eventlane_relay_due (status, lease_until, created_at),
    INDEX eventlane_relay_oldest (status, created_at, id),
    INDEX eventlane_relay_delivered (status, delivered_at)
) ENGINE = InnoDB"],
    down: &["DROP TABLE IF EXISTS eventlane_relay_outbox"],
    insert: "\
    INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at)
    VALUES (?, ?, ?, UTC_TIMESTAMP(3))",
    insert_and_wake: None,
    candidates: "\
    SELECT id FROM eventlane_relay_outbox FORCE INDEX (eventlane_relay_oldest)
    WHERE status = 'pending' AND lease_until <= UTC_TIMESTAMP(3)
    ORDER BY created_at, id LIMIT ?",
    claim: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET lease_owner = ?, lease_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    WHERE status = 'pending' AND lease_until <= UTC_TIMESTAMP(3) AND id IN ({ids})",
    read_back: "\
    SELECT id, topic, payload, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at)
    FROM eventlane_relay_outbox FORCE INDEX (PRIMARY)
    WHERE lease_owner = ? AND status = 'pending' AND id IN ({ids})
    ORDER BY created_at, id",
    begin: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET attempts = attempts + 1, lease_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    WHERE id = ? AND lease_owner = ? AND status = 'pending'",
    renew: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET lease_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    WHERE lease_owner = ? AND status = 'pending' AND id IN ({ids})",
    release: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET lease_owner = '', lease_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    WHERE lease_owner = ? AND status = 'pending' AND id IN ({ids})",
    delivered: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET status = 'delivered', delivered_at = UTC_TIMESTAMP(3), lease_owner = '', last_error = NULL
    WHERE id = ? AND lease_owner = ? AND status = 'pending'",
    failed: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET last_error = ?, attempts = attempts - ?, lease_owner = '',
        lease_until = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    WHERE id = ? AND lease_owner = ? AND status = 'pending'",
    dead: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET status = 'dead', last_error = ?, lease_owner = ''
    WHERE id = ? AND lease_owner = ? AND status = 'pending'",
    purgeable: "\
    SELECT id FROM eventlane_relay_outbox FORCE INDEX (eventlane_relay_delivered)
    WHERE status = 'delivered' AND delivered_at <= DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? SECOND)
    ORDER BY delivered_at LIMIT ?",
    purge: "\
    DELETE outbox FROM eventlane_relay_outbox AS outbox FORCE INDEX (PRIMARY)
    WHERE outbox.status = 'delivered' AND outbox.id IN ({ids})",
    pending: "\
    SELECT COUNT(*), TIMESTAMPDIFF(MICROSECOND, MIN(created_at), UTC_TIMESTAMP(3)) DIV 1000
    FROM eventlane_relay_outbox WHERE status = 'pending'",
    dead_count: "SELECT COUNT(*) FROM eventlane_relay_outbox WHERE status = 'dead'",
    dead_list: "\
    SELECT id, topic, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at), last_error,
        CHAR_LENGTH(payload)
    FROM eventlane_relay_outbox
    WHERE status = 'dead' AND (? = '' OR topic = ?)
    ORDER BY created_at, id LIMIT ?",
    dead_one: "\
    SELECT id, topic, attempts, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', created_at), last_error,
        CHAR_LENGTH(payload)
    FROM eventlane_relay_outbox WHERE id = ? AND status = 'dead'",
    replay: "\
    UPDATE eventlane_relay_outbox FORCE INDEX (PRIMARY)
    SET status = 'pending', attempts = 0, lease_owner = '',
        lease_until = '1970-01-01 00:00:00.000', delivered_at = NULL, last_error = NULL
    WHERE id = ? AND status = 'dead'",
    encoding: None,
};
