#pragma once
/* Reading a stored executable: its manifest and its chunks, safe from removal while it is open. */
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct StoredExecutable StoredExecutable;

/* Errors: NOT_FOUND the tenant has no executable of this identity (named in the message); CORRUPT;
 * IO. */
MUST_CHECK Error *stored_executable_open(
    Store *store, TenantId tenant, const Digest *identity, StoredExecutable **out_executable);
void stored_executable_close(StoredExecutable *executable);
DEFINE_OWN(StoredExecutable, stored_executable_close);

/* The executable after this one, of all tenants; INT64_MIN and zeros before the first. The catalog
 * is read for no longer than that, so that a walk holds up no writer. Errors: CORRUPT; IO. */
MUST_CHECK Error *stored_executable_next(
    Store *store, TenantId *inout_tenant, Digest *inout_identity, bool *out_found);

/* The manifest as it was given to models_register; its stored bytes were checked. Borrowed. */
const uint8_t *stored_executable_manifest(const StoredExecutable *executable, size_t *out_size);
/* What it refers to, in order. Borrowed. */
const ChunkRef *stored_executable_chunks(const StoredExecutable *executable, size_t *out_count);
/* Where its chunks come from. Borrowed. Threads: any, several at once. */
ChunkSource stored_executable_source(StoredExecutable *executable);
