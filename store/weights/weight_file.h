#pragma once
/* A file of the cache of prepared weights: the bytes of one executable as one kind of device wants
 * them, behind a header that says whose they are and how to tell whether they still are.
 *
 * It is written without a sync: what a crash leaves half is noticed by its checksums and made anew.
 *
 * Stored as: docs/home.md#prepared-weights */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/worker_pool.h"

enum {
    WEIGHT_PIECE_SIZE = 1 << 20, /* bytes of data under one checksum */
    WEIGHT_NAME_SIZE = 2 * DIGEST_TEXT_SIZE + 8,
};
#define WEIGHT_DATA_SIZE_MAX ((uint64_t)1 << 40)

/* What weights are of: all of it is content, so it says nothing about who stored it. */
typedef struct WeightKey {
    Digest executable; /* its identity */
    Digest layout;     /* of what stands where, in which packed form, for which determinism class */
    uint64_t size;     /* bytes of data; > 0 */
} WeightKey;

/* "EXECUTABLE-LAYOUT.lvw" */
void weight_file_name(const WeightKey *key, char out_name[WEIGHT_NAME_SIZE]);
/* False: it is no such name. The size is not in it, and stays 0. */
bool weight_file_parse_name(const char *name, WeightKey *out_key);
/* Of the whole file. */
uint64_t weight_file_size(const WeightKey *key);

/* Gives size bytes of the data at an offset: in *out_data, or somewhere of its own that lives until
 * it is called again with the same buffer. buffer: WEIGHT_PIECE_SIZE bytes. Threads: several at
 * once, each with a buffer of its own. */
typedef struct WeightReader {
    Error *(*read)(
        void *context, uint64_t offset, size_t size, void *buffer, const void **out_data);
    void *context;
} WeightReader;

/* Writes an open, empty file. pool: reads and sums in its threads; NULL: here.
 * Errors: INVALID a size beyond the limit; EXHAUSTED the disk is full; IO; the reader's. */
MUST_CHECK Error *weight_file_write(
    int descriptor, const WeightKey *key, WeightReader reader, WorkerPool *pool);

/* An open file whose header is right; its pieces are still to be checked. */
typedef struct WeightFile {
    MappedFile *mapped;
    const uint8_t *data;  /* key.size bytes, page-aligned */
    const uint64_t *sums; /* of its pieces */
    uint64_t size;
} WeightFile;

/* What the file says of itself, for a key whose size nobody knows. Errors: CORRUPT; IO. */
MUST_CHECK Error *weight_file_read_size(int descriptor, uint64_t *out_size);
/* Errors: CORRUPT it is none, or not of this key; UNSUPPORTED of another version; IO. */
MUST_CHECK Error *weight_file_open(int descriptor, const WeightKey *key, WeightFile *out_file);
void weight_file_close(WeightFile *file);
size_t weight_file_piece_count(const WeightFile *file);
/* Errors: CORRUPT it is not what was written. */
MUST_CHECK Error *weight_file_check_piece(const WeightFile *file, size_t index);
