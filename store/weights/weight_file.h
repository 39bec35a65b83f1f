#pragma once
/* A file of the cache of prepared weights: the bytes of one executable in the form that one kind of
 * device wants, behind a header that identifies them and holds their checksums. Only store/weights
 * uses it. Threads: one at a time per file, unless a function says otherwise.
 *
 * Files are written without a sync: checksums reveal a file that a crash left incomplete, and the
 * weights are prepared anew.
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

/* Identifies weights by content only, so that the key does not tell who stored them. */
typedef struct WeightKey {
    Digest executable; /* the executable's identity */
    Digest layout;     /* digest of the arrangement, the packed forms and the determinism class */
    uint64_t size;     /* bytes of data; > 0 */
} WeightKey;

/* "EXECUTABLE-LAYOUT.lvw" */
void weight_file_name(const WeightKey *key, char out_name[WEIGHT_NAME_SIZE]);
/* Parses a name. Returns false for other names. The name does not contain the size, which stays 0.
 */
bool weight_file_parse_name(const char *name, WeightKey *out_key);
/* The size of the whole file. */
uint64_t weight_file_size(const WeightKey *key);

/* Reads size bytes of the data at an offset. *out_data points to the buffer, or to memory that the
 * reader owns until its next call with the same buffer. buffer: WEIGHT_PIECE_SIZE bytes.
 * Threads: several at once, each with its own buffer. */
typedef struct WeightReader {
    Error *(*read)(
        void *context, uint64_t offset, size_t size, void *buffer, const void **out_data);
    void *context;
} WeightReader;

/* Writes an open, empty file. pool: its threads read and compute checksums; NULL: the calling
 * thread.
 * Errors: INVALID a size beyond the limit; EXHAUSTED the disk is full; IO; the reader's. */
MUST_CHECK Error *weight_file_write(
    int descriptor, const WeightKey *key, WeightReader reader, WorkerPool *pool);

/* An open file with a valid header. Its pieces are not checked yet. */
typedef struct WeightFile {
    MappedFile *mapped;
    const uint8_t *data;  /* key.size bytes, page-aligned */
    const uint64_t *sums; /* the checksums of the pieces */
    uint64_t size;
} WeightFile;

/* Reads the size from the header, for a key without a size. Errors: CORRUPT; IO. */
MUST_CHECK Error *weight_file_read_size(int descriptor, uint64_t *out_size);
/* Opens a file. Errors: CORRUPT no weight file, or not of this key; UNSUPPORTED another version;
 * IO. */
MUST_CHECK Error *weight_file_open(int descriptor, const WeightKey *key, WeightFile *out_file);
void weight_file_close(WeightFile *file);
size_t weight_file_piece_count(const WeightFile *file);
/* Checks a piece. Errors: CORRUPT the piece has changed. */
MUST_CHECK Error *weight_file_check_piece(const WeightFile *file, size_t index);
