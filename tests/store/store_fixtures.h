#pragma once
/* What the store's tests share: a home of their own, content made from a seed, a store's state as
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/allocator.h"
#include "base/text.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/chunk_upload.h"
#include "store/upkeep/fsck.h"
#include "store/upkeep/gc.h"
#include "store/models/models.h"
#include "store/database/store.h"
#include "store/models/stored_executable.h"

#include "tests/support/test_sanitizers.h"

/* Each file's group, called by test_main.c. */
#define GROUP(name) int test_##name(void);
#include TEST_GROUPS
#undef GROUP

#define TEST_GROUP(group, ...)                                                                     \
    int test_##group(void) {                                                                       \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests_name(#group, tests, NULL, NULL);                             \
    }

/* Fails the test with the error's message. */
#define expect_ok(expression) fixture_expect_ok(expression, #expression, __FILE__, __LINE__)
void fixture_expect_ok(Error *owned_error, const char *what, const char *file, int line);
/* The error must have this code, and this text somewhere in its message. */
#define expect_error(expression, code, text)                                                       \
    fixture_expect_error(expression, code, text, #expression, __FILE__, __LINE__)
void fixture_expect_error(Error *owned_error, ErrorCode code, const char *text, const char *what,
    const char *file, int line);

enum { FIXTURE_PATH_SIZE = 256, FIXTURE_CHUNKS_MAX = 512 };

/* A fresh folder; store homes are made in it. */
typedef struct TestHome {
    char path[FIXTURE_PATH_SIZE];
} TestHome;

TestHome fixture_home_make(void);
void fixture_home_remove(TestHome *home);
#define OWN_HOME(name) __attribute__((cleanup(fixture_home_remove))) name
/* path/name, in a static buffer. */
const char *fixture_path(const TestHome *home, const char *name);

/* A copy of the home's files, for a state to come back to. */
void fixture_home_copy(const TestHome *from, const TestHome *to);

Store *fixture_open(const TestHome *home);

/* An executable made from a seed: chunk i's bytes depend on seed + i, so close seeds share chunks.
 */
typedef struct TestExecutable {
    char manifest[128];
    ChunkRef chunks[FIXTURE_CHUNKS_MAX];
    ExecutableContent content; /* points into this struct */
} TestExecutable;

void fixture_make_raw(uint32_t seed, uint32_t size, uint8_t *out);
void fixture_make_chunk(uint32_t seed, uint32_t size, ChunkRef *out_ref, ByteWriter *stored);
void fixture_make_executable(
    uint32_t seed, uint32_t chunk_count, uint32_t chunk_size, TestExecutable *out);
/* Uploads the chunks that the sink lacks. */
Error *fixture_upload(
    ChunkUpload *upload, uint32_t seed, uint32_t chunk_count, uint32_t chunk_size);
/* All of it: upload and register. alias may be NULL; out_version may be NULL. */
Error *fixture_register(Store *store, TenantId tenant, const char *name, uint32_t seed,
    uint32_t chunk_count, uint32_t chunk_size, const char *alias, int64_t *out_version);

/* Everything that the default tenant sees, each chunk read and decoded, as text; compare two states
 * with it. */
void fixture_print_state(Store *store, TextBuilder *out);
/* fsck finds no error. */
void fixture_expect_clean(Store *store);
/* Runs SQL on a home that nobody has open, behind the store's back. */
void fixture_run_sql(const TestHome *home, const char *file, const char *sql);
int64_t fixture_read_sql(const TestHome *home, const char *file, const char *sql);
