#pragma once
/* Reads a stored executable: its manifest and its chunks. gc does not delete an executable that is
 * open. Callers: model loading in scheduler/, the weight folder, gc and fsck. Threads: any; one at
 * a time per executable unless a function says otherwise. */
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct StoredExecutable StoredExecutable;

/* Opens a tenant's executable. Errors: NOT_FOUND the tenant has no executable of this identity (the
 * message names it); CORRUPT; IO. */
MUST_CHECK Error *stored_executable_open(
    Store *store, TenantId tenant, const Digest *identity, StoredExecutable **out_executable);
void stored_executable_close(StoredExecutable *executable);
DEFINE_OWN(StoredExecutable, stored_executable_close);

/* Steps to the next executable of any tenant; the walk begins with INT64_MIN and zeros. Each call
 * reads the catalog only briefly, so that a walk delays no writer. Errors: CORRUPT; IO. */
MUST_CHECK Error *stored_executable_next(
    Store *store, TenantId *inout_tenant, Digest *inout_identity, bool *out_found);

/* The manifest as models_register got it, checked. The executable owns the bytes. */
const uint8_t *stored_executable_manifest(const StoredExecutable *executable, size_t *out_size);
/* The chunks that the manifest refers to, in order. The executable owns the list. */
const ChunkRef *stored_executable_chunks(const StoredExecutable *executable, size_t *out_count);
/* The source of the executable's chunks. The executable owns it. Threads: any, several at once. */
ChunkSource stored_executable_source(StoredExecutable *executable);
