-- What is removed is marked first, which takes it from everybody's sight, and its rows are deleted in steps.

-- A job whose contents are being deleted. whole: the job goes, too; its row has node 0, which no job has, and its own id as number, no key, no executable
-- and no time of its end. Else it is a tombstone, and stays.
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
