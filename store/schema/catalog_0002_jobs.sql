-- Jobs with their data and events, tenants' shares, tokens, and which node this home is. The numbers of states, kinds,
-- roles and quotas are those of job_states.def, job_content.h, job_event_kinds.def, token_roles.def and quotas.def.

ALTER TABLE tenants ADD COLUMN weight INTEGER NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000000);
ALTER TABLE tenants ADD COLUMN retention_seconds INTEGER NOT NULL DEFAULT 604800 CHECK (retention_seconds >= 0);
-- Of its executables and jobs, changed in the transactions that add and remove them.
ALTER TABLE tenants ADD COLUMN bytes_stored INTEGER NOT NULL DEFAULT 0 CHECK (bytes_stored >= 0);
UPDATE tenants SET bytes_stored =
    (SELECT coalesce(sum(e.bytes_stored), 0) FROM executables e WHERE e.tenant = tenants.id);

-- What has no row has no limit.
CREATE TABLE tenant_quotas (
    tenant INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    quota INTEGER NOT NULL CHECK (quota >= 1),
    value INTEGER NOT NULL CHECK (value >= 0),
    PRIMARY KEY (tenant, quota)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: it is in the token's text
    tenant INTEGER REFERENCES tenants (id), -- NULL: of all tenants
    role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 3),
    created REAL NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32) -- SHA-256 of the token's text
) STRICT;

CREATE TABLE home (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    node INTEGER NOT NULL CHECK (node BETWEEN 1 AND 281474976710655), -- random, 48 bits
    last_job INTEGER NOT NULL CHECK (last_job >= 0), -- the highest id ever given to a job
    binding BLOB CHECK (length(binding) = 32) -- which machine and folder the node's number is for; NULL: none yet
) STRICT;

INSERT INTO home (id, node, last_job) VALUES (1, abs(random() % 281474976710655) + 1, 0);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, -- the order in which they came here
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    node INTEGER NOT NULL, -- its name on all nodes: the node that made it
    number INTEGER NOT NULL, -- and its id there
    state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 9),
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 255),
    release INTEGER NOT NULL CHECK (release BETWEEN 1 AND 2), -- outputs are visible: 1 at once, 2 with a checkpoint
    items_total INTEGER CHECK (items_total >= 0), -- NULL: a single run
    items_done INTEGER NOT NULL CHECK (items_done >= 0),
    output_count INTEGER NOT NULL CHECK (output_count >= 0),
    outputs_visible INTEGER NOT NULL CHECK (outputs_visible BETWEEN 0 AND output_count),
    checkpoint_last INTEGER NOT NULL CHECK (checkpoint_last >= 0), -- the highest number ever given to one
    event_count INTEGER NOT NULL CHECK (event_count >= 0),
    bytes_stored INTEGER NOT NULL CHECK (bytes_stored >= 0), -- of its contents
    submitted REAL NOT NULL,
    started REAL,
    finished REAL,
    deadline REAL,
    checkpoint_created REAL, -- of the newest one
    device_seconds REAL NOT NULL,
    epoch INTEGER NOT NULL CHECK (epoch >= 0),
    attempt INTEGER NOT NULL CHECK (attempt >= 0), -- at migrating it
    migrating TEXT, -- where to; NULL: it is not
    executable INTEGER REFERENCES executables (id), -- NULL: a tombstone that needs it no more
    identity BLOB NOT NULL CHECK (length(identity) = 32), -- of the executable
    origin INTEGER NOT NULL CHECK (origin BETWEEN 0 AND 3), -- 0 submitted, 1 a fork, 2 a copy, 3 released elsewhere
    origin_node INTEGER,
    origin_number INTEGER,
    origin_epoch INTEGER,
    model TEXT NOT NULL, -- the reference, for people
    device TEXT NOT NULL, -- the last one that it ran on
    key TEXT, -- the submitter's, for sending the same again
    request BLOB NOT NULL CHECK (length(request) = 32), -- SHA-256 of what was sent under the key
    policy BLOB NOT NULL, -- the scheduler's own
    UNIQUE (node, number)
) STRICT;

CREATE INDEX jobs_by_tenant ON jobs (tenant);
CREATE INDEX jobs_unfinished ON jobs (tenant) WHERE state IN (1, 2, 8, 9);
CREATE INDEX jobs_finished ON jobs (tenant, finished) WHERE state IN (3, 4, 5);
CREATE INDEX jobs_by_executable ON jobs (executable);
CREATE UNIQUE INDEX jobs_by_key ON jobs (tenant, key) WHERE key IS NOT NULL;

-- Inputs, outputs and checkpoints of jobs: bytes that stand here, and chunks in chunks.db.
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3), -- 1 inputs, 2 output, 3 checkpoint
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    created REAL NOT NULL,
    items_done INTEGER CHECK (items_done >= 0), -- at a checkpoint
    outputs INTEGER CHECK (outputs >= 0), -- before a checkpoint
    bytes_raw INTEGER NOT NULL CHECK (bytes_raw >= 0),
    bytes_stored INTEGER NOT NULL CHECK (bytes_stored >= 0),
    chunk_count INTEGER NOT NULL CHECK (chunk_count >= 0), -- rows in content_chunks
    digest BLOB NOT NULL CHECK (length(digest) = 32), -- SHA-256 of bytes and the chunks' hashes and raw sizes
    bytes BLOB NOT NULL,
    UNIQUE (job, kind, sequence)
) STRICT;

CREATE TABLE content_chunks (
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    content INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the raw bytes
    raw_size INTEGER NOT NULL CHECK (raw_size BETWEEN 1 AND 1048576),
    PRIMARY KEY (content, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX content_chunks_by_hash ON content_chunks (tenant, hash);

CREATE TABLE job_events (
    job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 5),
    time REAL NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 9), -- after it
    output_begin INTEGER NOT NULL, -- outputs that became visible: from here
    output_end INTEGER NOT NULL CHECK (output_end >= output_begin), -- up to before here
    why TEXT NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;
