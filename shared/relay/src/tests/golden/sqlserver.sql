-- up
IF OBJECT_ID(N'eventlane_relay_outbox', N'U') IS NULL
    CREATE TABLE eventlane_relay_outbox (
        id NVARCHAR(36) NOT NULL PRIMARY KEY,
        topic NVARCHAR(255) NOT NULL,
        payload NVARCHAR(MAX) NOT NULL,
        status NVARCHAR(16) NOT NULL DEFAULT N'pending' CHECK (status IN (N'pending', N'delivered', N'dead')),
        attempts INT NOT NULL DEFAULT 0,
        created_at DATETIMEOFFSET(3) NOT NULL DEFAULT SYSDATETIMEOFFSET(),
        lease_owner NVARCHAR(36) NOT NULL DEFAULT N'',
        lease_until DATETIMEOFFSET(3) NOT NULL DEFAULT '1970-01-01T00:00:00.000+00:00',
        delivered_at DATETIMEOFFSET(3) NULL,
        last_error NVARCHAR(MAX) NULL
    );

-- up
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'eventlane_relay_due')
    CREATE INDEX eventlane_relay_due ON eventlane_relay_outbox (status, lease_until, created_at) WHERE status = N'pending';

-- up
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'eventlane_relay_oldest')
    CREATE INDEX eventlane_relay_oldest ON eventlane_relay_outbox (created_at, id) INCLUDE (lease_until) WHERE status = N'pending';

-- up
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'eventlane_relay_delivered')
    CREATE INDEX eventlane_relay_delivered ON eventlane_relay_outbox (delivered_at) WHERE status = N'delivered';

-- up
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'eventlane_relay_dead')
    CREATE INDEX eventlane_relay_dead ON eventlane_relay_outbox (created_at, id) WHERE status = N'dead';

-- down
IF OBJECT_ID(N'eventlane_relay_outbox', N'U') IS NOT NULL
    DROP TABLE eventlane_relay_outbox;

-- insert
INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at)
    VALUES (@P1, @P2, @P3, SYSDATETIMEOFFSET());

-- candidates
SELECT TOP (@P1) id FROM eventlane_relay_outbox
    WHERE status = N'pending' AND lease_until <= SYSDATETIMEOFFSET()
    ORDER BY created_at, id;

-- claim (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = @P1, lease_until = DATEADD(millisecond, @P2, SYSDATETIMEOFFSET())
    WHERE status = N'pending' AND lease_until <= SYSDATETIMEOFFSET() AND id IN (@P3, @P4, @P5);

-- read_back (of three)
SELECT id, topic, payload, CAST(attempts AS BIGINT), DATEDIFF_BIG(microsecond, '1970-01-01T00:00:00+00:00', created_at)
    FROM eventlane_relay_outbox
    WHERE lease_owner = @P1 AND status = N'pending' AND id IN (@P2, @P3, @P4)
    ORDER BY created_at, id;

-- begin
UPDATE eventlane_relay_outbox
    SET attempts = attempts + 1, lease_until = DATEADD(millisecond, @P1, SYSDATETIMEOFFSET())
    WHERE id = @P2 AND lease_owner = @P3 AND status = N'pending';

-- renew (of three)
UPDATE eventlane_relay_outbox
    SET lease_until = DATEADD(millisecond, @P1, SYSDATETIMEOFFSET())
    WHERE lease_owner = @P2 AND status = N'pending' AND id IN (@P3, @P4, @P5);

-- release (of three)
UPDATE eventlane_relay_outbox
    SET lease_owner = N'', lease_until = DATEADD(millisecond, @P1, SYSDATETIMEOFFSET())
    WHERE lease_owner = @P2 AND status = N'pending' AND id IN (@P3, @P4, @P5);

-- delivered
UPDATE eventlane_relay_outbox
    SET status = N'delivered', delivered_at = SYSDATETIMEOFFSET(), lease_owner = N'', last_error = NULL
    WHERE id = @P1 AND lease_owner = @P2 AND status = N'pending';

-- failed
UPDATE eventlane_relay_outbox
    SET last_error = @P1, attempts = attempts - @P2, lease_owner = N'',
        lease_until = DATEADD(millisecond, @P3, SYSDATETIMEOFFSET())
    WHERE id = @P4 AND lease_owner = @P5 AND status = N'pending';

-- dead
UPDATE eventlane_relay_outbox
    SET status = N'dead', last_error = @P1, lease_owner = N''
    WHERE id = @P2 AND lease_owner = @P3 AND status = N'pending';

-- purgeable
SELECT TOP (@P2) id FROM eventlane_relay_outbox
    WHERE status = N'delivered' AND delivered_at <= DATEADD(second, -@P1, SYSDATETIMEOFFSET())
    ORDER BY delivered_at;

-- purge (of three)
DELETE FROM eventlane_relay_outbox WHERE status = N'delivered' AND id IN (@P1, @P2, @P3);

-- pending
SELECT COUNT_BIG(*), DATEDIFF_BIG(millisecond, MIN(created_at), SYSDATETIMEOFFSET())
    FROM eventlane_relay_outbox WHERE status = N'pending';

-- dead_count
SELECT COUNT_BIG(*) FROM eventlane_relay_outbox WHERE status = N'dead';

-- dead_list
SELECT TOP (@P3) id, topic, CAST(attempts AS BIGINT),
        DATEDIFF_BIG(microsecond, '1970-01-01T00:00:00+00:00', created_at), last_error,
        CAST(LEN(payload) AS BIGINT)
    FROM eventlane_relay_outbox
    WHERE status = N'dead' AND (@P1 = N'' OR topic = @P2)
    ORDER BY created_at, id;

-- dead_one
SELECT id, topic, CAST(attempts AS BIGINT),
        DATEDIFF_BIG(microsecond, '1970-01-01T00:00:00+00:00', created_at), last_error,
        CAST(LEN(payload) AS BIGINT)
    FROM eventlane_relay_outbox WHERE id = @P1 AND status = N'dead';

-- replay
UPDATE eventlane_relay_outbox
    SET status = N'pending', attempts = 0, lease_owner = N'',
        lease_until = '1970-01-01T00:00:00.000+00:00', delivered_at = NULL, last_error = NULL
    WHERE id = @P1 AND status = N'dead';

