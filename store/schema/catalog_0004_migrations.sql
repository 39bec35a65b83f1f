-- Other homes that jobs go to and come from, and jobs on their way.

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    node INTEGER NOT NULL UNIQUE CHECK (node BETWEEN 1 AND 281474976710655), -- as in the names of its jobs
    url TEXT NOT NULL,
    token TEXT NOT NULL, -- made there, for this home
    fingerprint TEXT, -- of its public key; NULL: it has no TLS, and a loopback address
    created REAL NOT NULL
) STRICT;

-- Of a node's token: whose it is, the first node that used it; NULL: none has yet.
ALTER TABLE tokens ADD COLUMN node INTEGER CHECK (node BETWEEN 1 AND 281474976710655);

-- Jobs that go to another node, or went: for each epoch and target the last attempt. It stays as long as the job's row, so that the question what became of
-- it has an answer, and so that only who was offered a job can ever say that it has it.
CREATE TABLE departures (
    job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    epoch INTEGER NOT NULL CHECK (epoch >= 0), -- of the job when the attempt began
    target INTEGER NOT NULL, -- a node's number
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    progress INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 3), -- 0 under way, 1 moved, 2 the target has said that it owns it, 3 given up
    suspended INTEGER NOT NULL CHECK (suspended BETWEEN 0 AND 1), -- what it is again if it stays: 0 queued, 1 suspended
    PRIMARY KEY (job, epoch, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX departures_unsettled ON departures (job) WHERE progress < 2;

-- Jobs that come from another node, until it is known whose they are.
CREATE TABLE arrivals (
    node INTEGER NOT NULL, -- the job's name
    number INTEGER NOT NULL,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    source INTEGER NOT NULL, -- a node's number
    epoch INTEGER NOT NULL CHECK (epoch >= 0), -- there
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    progress INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 2), -- 0 offered, 1 its row in jobs is in_doubt, 2 adopted: the source is to be told
    suspended INTEGER NOT NULL CHECK (suspended BETWEEN 0 AND 1), -- what it becomes here: 0 queued, 1 suspended
    touched REAL NOT NULL, -- when the source was last heard of it
    -- the tombstone that the row in jobs was, and is again if the job does not come; NULL: there was no row
    before_state INTEGER CHECK (before_state BETWEEN 6 AND 7),
    before_epoch INTEGER,
    before_migrating TEXT,
    PRIMARY KEY (node, number)
) STRICT, WITHOUT ROWID;
