-- What is removed is marked first, which takes it from everybody's sight, and its rows are deleted in steps.

-- A job whose contents are being deleted. whole: the job goes, too; its row has node 0, which no job has, and its own id as number, no key, no executable
-- and no time of its end. Else it is a tombstone, and stays. A job that is made in steps has such a row, too, until it is whole (job_copy.h).
CREATE TABLE job_removals (
    job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    whole INTEGER NOT NULL CHECK (whole BETWEEN 0 AND 1),
    bytes INTEGER NOT NULL CHECK (bytes >= 0) -- of the contents that are left; the job's bytes_stored is 0
) STRICT;

-- A model whose versions are being deleted. Its name begins with a blank, as no name does.
CREATE TABLE model_removals (
    model INTEGER PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE
) STRICT;

-- Rows cost what they take, with what is stored in them (row_costs.h).
UPDATE contents SET bytes_stored = bytes_stored + 192 + 128 * chunk_count + iif(kind = 1, 1024, 0);
UPDATE executables SET bytes_stored = bytes_stored + 1024 + 128 * chunk_count;
UPDATE jobs SET bytes_stored = (SELECT coalesce(sum(c.bytes_stored), 0) FROM contents c WHERE c.job = jobs.id);
UPDATE tenants SET bytes_stored =
    (SELECT coalesce(sum(e.bytes_stored), 0) FROM executables e WHERE e.tenant = tenants.id) +
    (SELECT coalesce(sum(j.bytes_stored), 0) FROM jobs j WHERE j.tenant = tenants.id);

-- Of its jobs' outputs, unpacked: what answers are made of.
ALTER TABLE tenants ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0 CHECK (output_bytes >= 0);
UPDATE tenants SET output_bytes =
    (SELECT coalesce(sum(c.bytes_raw), 0) FROM contents c JOIN jobs j ON j.id = c.job WHERE c.kind = 2 AND j.tenant = tenants.id);

-- How many checkpoints its jobs have.
ALTER TABLE tenants ADD COLUMN checkpoints INTEGER NOT NULL DEFAULT 0;
UPDATE tenants SET checkpoints =
    (SELECT count(*) FROM contents c JOIN jobs j ON j.id = c.job WHERE c.kind = 3 AND j.tenant = tenants.id);

-- Kinds of events are those of job_event_kinds.def, which grows.
CREATE TABLE job_events_new (
    job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 255),
    time REAL NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 9), -- after it
    output_begin INTEGER NOT NULL, -- outputs that became visible: from here
    output_end INTEGER NOT NULL CHECK (output_end >= output_begin), -- up to before here
    why TEXT NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO job_events_new SELECT job, sequence, kind, time, state, output_begin, output_end, why FROM job_events;
DROP TABLE job_events;
ALTER TABLE job_events_new RENAME TO job_events;

-- Rows that no content brings along cost their tenant what they take.
UPDATE tenants SET bytes_stored = bytes_stored +
    256 * (SELECT count(*) FROM models m WHERE m.tenant = tenants.id) +
    128 * (SELECT count(*) FROM models m JOIN versions v ON v.model = m.id WHERE m.tenant = tenants.id) +
    256 * (SELECT count(*) FROM models m JOIN aliases a ON a.model = m.id WHERE m.tenant = tenants.id) +
    96 * (SELECT count(*) FROM arrivals a WHERE a.tenant = tenants.id) +
    96 * (SELECT count(*) FROM departures d JOIN jobs j ON j.id = d.job WHERE j.tenant = tenants.id) +
    96 * (SELECT count(*) FROM verifications v JOIN jobs j ON j.id = v.replay WHERE j.tenant = tenants.id) +
    512 * (SELECT count(*) FROM jobs j WHERE j.state IN (6, 7) AND j.tenant = tenants.id) +
    (SELECT coalesce(sum(64 + length(CAST(e.why AS BLOB))), 0) FROM jobs j JOIN job_events e ON e.job = j.id
        WHERE j.tenant = tenants.id AND e.sequence > 8 AND e.kind != 2);

-- Retention counts the time that a daemon was seen at work in this home, by a clock that nobody sets.
ALTER TABLE home ADD COLUMN alive_seconds REAL NOT NULL DEFAULT 0 CHECK (alive_seconds >= 0);
-- The home's alive_seconds when the job ended; NULL: it has not, or does not expire. The time of jobs that ended before begins anew.
ALTER TABLE jobs ADD COLUMN finished_alive REAL;
UPDATE jobs SET finished_alive = 0 WHERE finished IS NOT NULL;
-- touched is the home's alive_seconds, too.
UPDATE arrivals SET touched = 0;
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (tenant, finished_alive, state) WHERE state IN (3, 4, 5);
