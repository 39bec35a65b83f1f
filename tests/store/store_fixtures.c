#include "tests/store/store_fixtures.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

void fixture_expect_ok(Error *owned_error, const char *what, const char *file, int line) {
    if (!owned_error) return;
    print_error("%s:%d: %s: %s [%s]\n", file, line, what, error_message(owned_error),
        error_where(owned_error));
    error_free(owned_error);
    fail();
}

void fixture_expect_error(Error *owned_error, ErrorCode code, const char *text, const char *what,
    const char *file, int line) {
    ErrorCode got = error_code(owned_error);
    bool same = got == code && strstr(error_message(owned_error), text);
    if (!same)
        print_error("%s:%d: %s: got %s \"%s\", not %s \"%s\"\n", file, line, what,
            error_info(got)->name, error_message(owned_error), error_info(code)->name, text);
    error_free(owned_error);
    if (!same) fail();
}

TestHome fixture_home_make(void) {
    TestHome home;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(
        home.path, sizeof home.path, "%s/layover-store-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(home.path));
    return home;
}

static void for_each_file(const char *path, void (*visit)(void *, const char *), void *context) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(context, entry->d_name);
    (void)closedir(folder);
}

static void remove_tree(void *context, const char *name) {
    char path[2 * FIXTURE_PATH_SIZE + 300];
    (void)snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    if (unlink(path) == 0) return;
    (void)chmod(path, 0700);
    for_each_file(path, remove_tree, path);
    (void)rmdir(path);
}

void fixture_home_remove(TestHome *home) {
    for_each_file(home->path, remove_tree, home->path);
    (void)rmdir(home->path);
}

const char *fixture_path(const TestHome *home, const char *name) {
    static char path[2 * FIXTURE_PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", home->path, name);
    return path;
}

typedef struct CopyPaths {
    const TestHome *from, *to;
} CopyPaths;

static void copy_file(void *context, const char *name) {
    const CopyPaths *paths = context;
    uint8_t *data;
    size_t size;
    expect_ok(file_read(fixture_path(paths->from, name), SIZE_MAX / 2, &data, &size));
    FILE *out = fopen(fixture_path(paths->to, name), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    memory_unmap(data, size);
}

void fixture_home_copy(const TestHome *from, const TestHome *to) {
    CopyPaths paths = {from, to};
    for_each_file(to->path, remove_tree, (void *)(uintptr_t)to->path);
    for_each_file(from->path, copy_file, &paths);
}

Store *fixture_open(const TestHome *home) {
    Store *store = NULL;
    expect_ok(store_open(home->path, STORE_CREATE, &store));
    return store;
}

/* xorshift: bytes that don't compress, the same on every run. */
void fixture_make_raw(uint32_t seed, uint32_t size, uint8_t *out) {
    uint64_t state = 0x9e3779b97f4a7c15u ^ ((uint64_t)seed << 17);
    for (uint32_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out[i] = (uint8_t)(state >> 32);
    }
}

void fixture_make_chunk(uint32_t seed, uint32_t size, ChunkRef *out_ref, ByteWriter *stored) {
    void *raw;
    expect_ok(memory_alloc(size, 1, &raw));
    fixture_make_raw(seed, size, raw);
    expect_ok(digest_sha256(raw, size, &out_ref->hash));
    out_ref->raw_size = size;
    if (stored) {
        stored->size = 0;
        expect_ok(chunk_encode(raw, size, CHUNK_FILTER_BYTES, stored));
    }
    memory_free(raw);
}

void fixture_make_executable(
    uint32_t seed, uint32_t chunk_count, uint32_t chunk_size, TestExecutable *out) {
    *out = (TestExecutable){0};
    (void)snprintf(
        out->manifest, sizeof out->manifest, "manifest %u %u %u", seed, chunk_count, chunk_size);
    for (uint32_t i = 0; i < chunk_count; i++)
        fixture_make_chunk(seed + i, chunk_size, &out->chunks[i], NULL);
    size_t size = strlen(out->manifest);
    out->content = (ExecutableContent){.manifest = out->manifest,
        .manifest_size = size,
        .manifest_raw_size = size,
        .chunks = out->chunks,
        .chunk_count = chunk_count};
    expect_ok(digest_sha256(out->manifest, size, &out->content.identity));
}

Error *fixture_upload(
    ChunkUpload *upload, uint32_t seed, uint32_t chunk_count, uint32_t chunk_size) {
    ChunkSink sink = chunk_upload_sink(upload);
    ByteWriter OWN_BYTES(stored) = {0};
    for (uint32_t i = 0; i < chunk_count; i++) {
        ChunkRef ref;
        bool found;
        fixture_make_chunk(seed + i, chunk_size, &ref, &stored);
        TRY(sink.find(sink.self, &ref, 1, &found));
        if (!found) TRY(sink.put(sink.self, &ref, stored.data, stored.size));
    }
    return NULL;
}

Error *fixture_register(Store *store, TenantId tenant, const char *name, uint32_t seed,
    uint32_t chunk_count, uint32_t chunk_size, const char *alias, int64_t *out_version) {
    TestExecutable executable;
    fixture_make_executable(seed, chunk_count, chunk_size, &executable);
    OWN(ChunkUpload, upload) = NULL;
    TRY(chunk_upload_open(store, tenant, &upload));
    TRY(fixture_upload(upload, seed, chunk_count, chunk_size));
    ModelVersion OWN_VERSION(version) = {0};
    TRY(models_register(upload, name, &executable.content, &alias, alias ? 1 : 0, &version, NULL));
    if (out_version) *out_version = version.version;
    return NULL;
}

static void print_chunks(StoredExecutable *executable, TextBuilder *out) {
    size_t count;
    const ChunkRef *refs = stored_executable_chunks(executable, &count);
    ByteWriter OWN_BYTES(stored) = {0};
    ChunkSource source = stored_executable_source(executable);
    for (size_t i = 0; i < count; i++) {
        char name[DIGEST_TEXT_SIZE];
        void *raw;
        expect_ok(memory_alloc(refs[i].raw_size, 1, &raw));
        expect_ok(source.get(source.self, &refs[i], &stored));
        expect_ok(chunk_decode(stored.data, stored.size, &refs[i], CHUNK_VERIFY_SHA256, raw));
        memory_free(raw);
        digest_print(&refs[i].hash, name);
        text_appendf(out, " %.8s/%u", name, refs[i].raw_size);
    }
}

void fixture_print_state(Store *store, TextBuilder *out) {
    OWN(ModelList, list) = NULL;
    expect_ok(models_list(store, TENANT_DEFAULT, &list));
    for (size_t i = 0; i < list->count; i++) {
        const ModelVersion *version = &list->items[i];
        OWN(StoredExecutable, executable) = NULL;
        size_t size;
        expect_ok(stored_executable_open(store, TENANT_DEFAULT, &version->executable, &executable));
        const uint8_t *manifest = stored_executable_manifest(executable, &size);
        text_appendf(out, "%s@%lld", version->model, (long long)version->version);
        for (size_t j = 0; j < version->alias_count; j++)
            text_appendf(out, " %s", version->aliases[j]);
        text_appendf(out, ": %.*s, %llu, %llu:", (int)size, (const char *)manifest,
            (unsigned long long)version->bytes_raw, (unsigned long long)version->bytes_stored);
        print_chunks(executable, out);
        text_append(out, "\n");
    }
    expect_ok(text_builder_check(out));
}

void fixture_expect_clean(Store *store) {
    OWN(FsckResult, result) = NULL;
    expect_ok(fsck_run(store, NULL, &result));
    for (uint64_t i = 0; i < result->error_count && i < FSCK_ERRORS_MAX; i++)
        print_error("fsck: %s\n", result->errors[i]);
    assert_int_equal(result->error_count, 0);
}

static sqlite3 *open_file(const TestHome *home, const char *file) {
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(fixture_path(home, file), &handle), SQLITE_OK);
    return handle;
}

void fixture_run_sql(const TestHome *home, const char *file, const char *sql) {
    sqlite3 *handle = open_file(home, file);
    char *message = NULL;
    if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

int64_t fixture_read_sql(const TestHome *home, const char *file, const char *sql) {
    sqlite3 *handle = open_file(home, file);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    return value;
}
