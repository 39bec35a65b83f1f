-- Jobs that are run again from a checkpoint, as jobs of their own, to compare what comes out with what is stored.

CREATE TABLE verifications (
    replay INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    job INTEGER REFERENCES jobs (id) ON DELETE SET NULL, -- whose outputs are compared; NULL: it was removed since
    checkpoint INTEGER NOT NULL CHECK (checkpoint >= 1), -- of that job
    output_begin INTEGER NOT NULL CHECK (output_begin >= 0), -- sequence numbers, those before output_end
    output_end INTEGER NOT NULL CHECK (output_end > output_begin)
) STRICT;

CREATE INDEX verifications_job ON verifications (job);
