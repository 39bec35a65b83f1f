-- How inference requests of a model are served.

-- Whether its requests are refused until somebody loads it again.
ALTER TABLE models ADD COLUMN unloaded INTEGER NOT NULL DEFAULT 0 CHECK (unloaded BETWEEN 0 AND 1);
-- Requests are joined to runs of up to so many items; 1: they are not.
ALTER TABLE versions ADD COLUMN batch_max INTEGER NOT NULL DEFAULT 1 CHECK (batch_max BETWEEN 1 AND 65536);
-- How long a request waits for others.
ALTER TABLE versions ADD COLUMN queue_delay_us INTEGER NOT NULL DEFAULT 0 CHECK (queue_delay_us BETWEEN 0 AND 10000000);
