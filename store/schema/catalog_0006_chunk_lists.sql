-- Contents share lists of chunks: a checkpoint has most lists of the one before, and writes rows for the others alone.

CREATE TABLE chunk_lists (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    digest BLOB CHECK (length(digest) = 32), -- SHA-256 of the chunks' hashes and raw sizes; NULL: shared by copies alone
    UNIQUE (tenant, digest)
) STRICT;

CREATE TABLE list_chunks (
    tenant INTEGER NOT NULL, -- the list's
    list INTEGER NOT NULL REFERENCES chunk_lists (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the raw bytes
    raw_size INTEGER NOT NULL CHECK (raw_size BETWEEN 1 AND 1048576),
    PRIMARY KEY (list, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX list_chunks_by_hash ON list_chunks (tenant, hash);

CREATE TABLE content_lists (
    content INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    list INTEGER NOT NULL REFERENCES chunk_lists (id),
    PRIMARY KEY (content, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX content_lists_by_list ON content_lists (list);

INSERT INTO chunk_lists (id, tenant) SELECT content, tenant FROM content_chunks WHERE position = 0;
INSERT INTO list_chunks (tenant, list, position, hash, raw_size) SELECT tenant, content, position, hash, raw_size FROM content_chunks;
INSERT INTO content_lists (content, position, list) SELECT content, 0, content FROM content_chunks WHERE position = 0;
DROP TABLE content_chunks;
