-- Jobs are counted by state, and a tenant's queued ones by tenant, from indexes alone.

DROP INDEX jobs_unfinished;
DROP INDEX jobs_finished;
CREATE INDEX jobs_unfinished ON jobs (tenant, state) WHERE state IN (1, 2, 8, 9);
CREATE INDEX jobs_finished ON jobs (tenant, finished, state) WHERE state IN (3, 4, 5);
CREATE INDEX jobs_tombstones ON jobs (state) WHERE state IN (6, 7);
