-- What the store knows by name. Every row belongs to a tenant; times are seconds since 1970.

CREATE TABLE tenants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created REAL NOT NULL
) STRICT;

INSERT INTO tenants (id, name, created) VALUES (1, 'default', (julianday('now') - 2440587.5) * 86400.0);

-- An executable's manifest as its caller gave it (compressed), content-addressed.
CREATE TABLE executables (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    identity BLOB NOT NULL CHECK (length(identity) = 32), -- SHA-256 of the uncompressed manifest
    bytes_raw INTEGER NOT NULL CHECK (bytes_raw >= 0),
    bytes_stored INTEGER NOT NULL CHECK (bytes_stored >= 0),
    chunk_count INTEGER NOT NULL CHECK (chunk_count >= 0), -- rows in executable_chunks
    created REAL NOT NULL,
    manifest_digest BLOB NOT NULL CHECK (length(manifest_digest) = 32), -- SHA-256 of the next column
    manifest BLOB NOT NULL,
    UNIQUE (tenant, identity)
) STRICT;

-- What an executable refers to in chunks.db, in the manifest's order.
CREATE TABLE executable_chunks (
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    executable INTEGER NOT NULL REFERENCES executables (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the raw bytes
    raw_size INTEGER NOT NULL CHECK (raw_size BETWEEN 1 AND 1048576),
    PRIMARY KEY (executable, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX executable_chunks_by_hash ON executable_chunks (tenant, hash);

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    last_version INTEGER NOT NULL, -- the highest number ever given, so that none is given twice
    created REAL NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE versions (
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    model INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    executable INTEGER NOT NULL REFERENCES executables (id),
    created REAL NOT NULL,
    PRIMARY KEY (model, version),
    UNIQUE (model, executable)
) STRICT, WITHOUT ROWID;

CREATE INDEX versions_by_executable ON versions (executable);

CREATE TABLE aliases (
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    model INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (model, name),
    FOREIGN KEY (model, version) REFERENCES versions (model, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX aliases_by_version ON aliases (model, version, name);
