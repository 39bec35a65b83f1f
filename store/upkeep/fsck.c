#include "store/upkeep/fsck.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/digest_set.h"
#include "store/models/models.h"
#include "store/upkeep/fsck_internal.h"
#include "store/models/stored_executable_internal.h"
#include "store/weights/weight_folder.h"

enum { TEXT_SHOWN_MAX = 300, NAME_TEXT_SIZE = MODEL_NAME_SIZE + DIGEST_TEXT_SIZE + 48 };

void fsck_result_release(FsckResult *result) {
    if (!result) return;
    for (uint64_t i = 0; i < result->error_count && i < FSCK_ERRORS_MAX; i++)
        memory_free(result->errors[i]);
    memory_free(result->errors);
    memory_free(result);
}

Error *fsck_note(Fsck *fsck, Error *owned_error) {
    if (!owned_error) return NULL;
    if (error_code(owned_error) == ERROR_OUT_OF_MEMORY) return owned_error;
    FsckResult *result = fsck->result;
    Error *failure = NULL;
    if (result->error_count < FSCK_ERRORS_MAX)
        failure =
            memory_copy_text(error_message(owned_error), &result->errors[result->error_count]);
    error_free(owned_error);
    if (!failure) result->error_count++;
    return failure;
}

static Error *note_text(Fsck *fsck, DatabaseKind kind, const char *text) {
    return fsck_note(fsck, error_make(ERROR_CORRUPT, __FILE__, __LINE__, "%s: %.*s",
                               database_infos[kind].file, TEXT_SHOWN_MAX, text));
}

/* SQLite's check returns one row "ok", or a row for each problem. On a read-only connection it
 * skips CHECK constraints; the store checks these values when it reads them. */
static Error *check_integrity(Fsck *fsck, DatabaseKind kind) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, kind, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_CHECK_INTEGRITY);
    for (;;) {
        bool row;
        Error *error = query_next(&query, &row);
        if (error) return fsck_note(fsck, error); /* too damaged to be looked at further */
        if (!row) return NULL;
        const char *text = (const char *)sqlite3_column_text(query.statement, 0);
        if (!text) text = "its integrity check says nothing";
        if (strcmp(text, "ok") != 0) TRY(note_text(fsck, kind, text));
    }
}

/* Tables of another shape can't be asked for anything. */
static Error *check_tables(Fsck *fsck, DatabaseKind kind, bool *out_known) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, kind, &reader));
    Error *error = connection_check_tables(reader);
    *out_known = !error;
    return fsck_note(fsck, error);
}

static Error *check_foreign_keys(Fsck *fsck) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_CHECK_FOREIGN_KEYS);
    for (;;) {
        bool row;
        Error *error = query_next(&query, &row);
        if (error) return fsck_note(fsck, error);
        if (!row) return NULL;
        const char *table = (const char *)sqlite3_column_text(query.statement, 0);
        const char *parent = (const char *)sqlite3_column_text(query.statement, 2);
        char text[TEXT_SHOWN_MAX];
        (void)snprintf(text, sizeof text, "a row of %s refers to no row of %s", table ? table : "?",
            parent ? parent : "?");
        TRY(note_text(fsck, DATABASE_CATALOG, text));
    }
}

/* "resnet@3 (executable 01ab…)": the name that people know. */
static Error *name_executable(
    Fsck *fsck, int64_t id, const Digest *identity, char out[NAME_TEXT_SIZE]) {
    char digest[DIGEST_TEXT_SIZE], model[MODEL_NAME_SIZE];
    digest_print(identity, digest);
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_FIND_NAME);
    query_bind_i64(&query, 1, id);
    bool row;
    int64_t version;
    TRY(query_next(&query, &row));
    if (!row) {
        (void)snprintf(out, NAME_TEXT_SIZE, "executable %s", digest);
        return NULL;
    }
    TRY(query_text(&query, 0, model, sizeof model));
    TRY(query_i64(&query, 1, &version));
    (void)snprintf(
        out, NAME_TEXT_SIZE, "%s@%lld (executable %s)", model, (long long)version, digest);
    return NULL;
}

Error *fsck_check_chunk_list(
    Fsck *fsck, TenantId tenant, const ChunkRef *chunks, size_t count, const char *needed_by) {
    DigestSet OWN_DIGEST_SET(seen) = {0};
    for (size_t i = 0; i < count; i++) {
        if (digest_set_find(&seen, &chunks[i].hash) == chunks[i].raw_size) continue;
        TRY(digest_set_add(&seen, &chunks[i].hash, chunks[i].raw_size));
        TRY(fsck_check_present(fsck, tenant, &chunks[i], needed_by));
    }
    return NULL;
}

static Error *check_manifest(Fsck *fsck, TenantId tenant, const Digest *identity,
    const StoredExecutable *executable, const char *name) {
    const FsckOptions *options = fsck->options;
    if (!options->check_manifest) return NULL;
    FsckExecutable shown = {.tenant = tenant, .identity = *identity};
    shown.manifest = stored_executable_manifest(executable, &shown.manifest_size);
    shown.chunks = stored_executable_chunks(executable, &shown.chunk_count);
    Error *error = options->check_manifest(options->check_manifest_context, &shown);
    return fsck_note(fsck, error_wrap(error, "%s", name));
}

static Error *check_executable(Fsck *fsck, TenantId tenant, const Digest *identity) {
    OWN(StoredExecutable, executable) = NULL;
    Error *error = stored_executable_open(fsck->store, tenant, identity, &executable);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error); /* removed during the check */
        return NULL;
    }
    fsck->result->executables++;
    if (error) return fsck_note(fsck, error);
    char name[NAME_TEXT_SIZE];
    TRY(name_executable(fsck, executable->id, identity, name));
    TRY(check_manifest(fsck, tenant, identity, executable, name));
    size_t count;
    const ChunkRef *chunks = stored_executable_chunks(executable, &count);
    return fsck_check_chunk_list(fsck, tenant, chunks, count, name);
}

static Error *check_executables(Fsck *fsck) {
    TenantId tenant = INT64_MIN;
    Digest identity = {0};
    for (;;) {
        bool found;
        Error *error = stored_executable_next(fsck->store, &tenant, &identity, &found);
        if (error) return fsck_note(fsck, error); /* the table can't be read any further */
        if (!found) return NULL;
        error = check_executable(fsck, tenant, &identity);
        if (error) TRY(fsck_note(fsck, error));
    }
}

static Error *check_contents(Fsck *fsck) {
    TRY(check_foreign_keys(fsck));
    TRY(check_executables(fsck));
    TRY(fsck_check_rows(fsck));
    TRY(fsck_check_jobs(fsck));
    TRY(fsck_check_chunks(fsck));
    return weight_folder_check(
        fsck->store, &fsck->result->weight_files, &fsck->result->weight_files_removed);
}

Error *fsck_run(Store *store, const FsckOptions *options, FsckResult **out_result) {
    static const FsckOptions none = {0};
    OWN(FsckResult, result) = NULL;
    TRY(memory_alloc(1, sizeof *result, (void **)&result));
    TRY(memory_alloc(FSCK_ERRORS_MAX, sizeof *result->errors, (void **)&result->errors));
    Fsck fsck = {store, options ? options : &none, result};
    TRY(check_integrity(&fsck, DATABASE_CATALOG));
    TRY(check_integrity(&fsck, DATABASE_CHUNKS));
    bool catalog_known, chunks_known;
    TRY(check_tables(&fsck, DATABASE_CATALOG, &catalog_known));
    TRY(check_tables(&fsck, DATABASE_CHUNKS, &chunks_known));
    if (catalog_known && chunks_known) TRY(check_contents(&fsck));
    *out_result = TAKE(result);
    return NULL;
}
