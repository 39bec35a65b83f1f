-- Stored chunks. tenant is an id of catalog.db. A rowid table with the blob as its last column: WITHOUT ROWID reads
-- 4 to 8 times slower and has no incremental blobs.

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: a reader holding a deleted one finds nothing
    tenant INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the raw bytes
    raw_size INTEGER NOT NULL CHECK (raw_size BETWEEN 1 AND 1048576),
    stored BLOB NOT NULL, -- docs/formats.md, chunk
    UNIQUE (tenant, hash)
) STRICT;
