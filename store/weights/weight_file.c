#include "store/weights/weight_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/bytes.h"

enum {
    VERSION = 1,
    HEADER_SIZE = 96, /* checksums follow */
    SIZE_OFFSET = 80,
    SUM_OFFSET = 88, /* checksum of the header and the checksums */
    DATA_ALIGNMENT = 4096,
    NAME_LENGTH = 2 * (DIGEST_TEXT_SIZE - 1) + 5,
};
static const char MAGIC[8] = "LVWEIGHT", SUFFIX[] = ".lvw";

void weight_file_name(const WeightKey *key, char out_name[WEIGHT_NAME_SIZE]) {
    char executable[DIGEST_TEXT_SIZE], layout[DIGEST_TEXT_SIZE];
    digest_print(&key->executable, executable);
    digest_print(&key->layout, layout);
    (void)snprintf(out_name, WEIGHT_NAME_SIZE, "%s-%s%s", executable, layout, SUFFIX);
}

bool weight_file_parse_name(const char *name, WeightKey *out_key) {
    char text[DIGEST_TEXT_SIZE] = "";
    WeightKey key = {.size = 0};
    const size_t digits = DIGEST_TEXT_SIZE - 1;
    if (strlen(name) != NAME_LENGTH || name[digits] != '-') return false;
    if (strcmp(name + 2 * digits + 1, SUFFIX) != 0) return false;
    memcpy(text, name, digits);
    if (!digest_parse(text, &key.executable)) return false;
    memcpy(text, name + digits + 1, digits);
    if (!digest_parse(text, &key.layout)) return false;
    *out_key = key;
    return true;
}

static uint64_t piece_count(uint64_t size) {
    return (size + WEIGHT_PIECE_SIZE - 1) / WEIGHT_PIECE_SIZE;
}

static uint64_t data_offset(uint64_t size) {
    uint64_t end = HEADER_SIZE + piece_count(size) * sizeof(uint64_t);
    return (end + DATA_ALIGNMENT - 1) & ~(uint64_t)(DATA_ALIGNMENT - 1);
}

uint64_t weight_file_size(const WeightKey *key) { return data_offset(key->size) + key->size; }

static Error *check_size(uint64_t size) {
    if (size == 0 || size > WEIGHT_DATA_SIZE_MAX)
        FAIL(INVALID, "%llu bytes of weights", (unsigned long long)size);
    return NULL;
}

/* ---- writing ---- */

typedef struct WriteJob {
    int descriptor;
    uint64_t size, data_offset;
    WeightReader reader;
    uint64_t *sums;
    pthread_mutex_t mutex; /* guards the members below */
    void **free_buffers;   /* room for one of each piece; few are used, again and again */
    size_t free_count;
} WriteJob;

static Error *write_at(int descriptor, const void *data, size_t size, uint64_t offset) {
    for (size_t done = 0; done < size;) {
        ssize_t written =
            pwrite(descriptor, (const char *)data + done, size - done, (off_t)(offset + done));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && (errno == ENOSPC || errno == EDQUOT))
            FAIL(EXHAUSTED, "the disk is full");
        if (written < 0) FAIL(IO, "write: %s", strerror(errno));
        if (written == 0) FAIL(IO, "write: nothing was written");
        done += (size_t)written;
    }
    return NULL;
}

static Error *take_buffer(WriteJob *job, void **out) {
    void *buffer = NULL;
    (void)pthread_mutex_lock(&job->mutex);
    if (job->free_count > 0) buffer = job->free_buffers[--job->free_count];
    (void)pthread_mutex_unlock(&job->mutex);
    if (!buffer) return memory_alloc(1, WEIGHT_PIECE_SIZE, out);
    *out = buffer;
    return NULL;
}

static void give_buffer(WriteJob *job, void *buffer) {
    (void)pthread_mutex_lock(&job->mutex);
    job->free_buffers[job->free_count++] = buffer;
    (void)pthread_mutex_unlock(&job->mutex);
}

static Error *write_piece(void *context, size_t index) {
    WriteJob *job = context;
    uint64_t offset = (uint64_t)index * WEIGHT_PIECE_SIZE, left = job->size - offset;
    size_t size = left < WEIGHT_PIECE_SIZE ? (size_t)left : WEIGHT_PIECE_SIZE;
    const void *data;
    void *buffer;
    TRY(take_buffer(job, &buffer));
    Error *error = job->reader.read(job->reader.context, offset, size, buffer, &data);
    if (!error) {
        job->sums[index] = digest_xxh3_seeded(data, size, index);
        error = write_at(job->descriptor, data, size, job->data_offset + offset);
    }
    give_buffer(job, buffer);
    return error;
}

/* The checksum of everything before the data except the checksum itself. */
static uint64_t sum_header(const uint8_t header[HEADER_SIZE], const uint8_t *sums, size_t count) {
    uint64_t head = digest_xxh3(header, SUM_OFFSET);
    return digest_xxh3_seeded(sums, count * sizeof(uint64_t), head);
}

static Error *write_header(const WriteJob *job, const WeightKey *key) {
    ByteWriter OWN_BYTES(writer) = {0};
    ByteWriter OWN_BYTES(sums) = {0};
    size_t count = (size_t)piece_count(key->size);
    byte_write_bytes(&writer, MAGIC, sizeof MAGIC);
    byte_write_u32(&writer, VERSION);
    byte_write_u32(&writer, WEIGHT_PIECE_SIZE);
    byte_write_bytes(&writer, key->executable.bytes, DIGEST_SIZE);
    byte_write_bytes(&writer, key->layout.bytes, DIGEST_SIZE);
    byte_write_u64(&writer, key->size);
    for (size_t i = 0; i < count; i++) byte_write_u64(&sums, job->sums[i]);
    TRY(byte_writer_check(&writer));
    TRY(byte_writer_check(&sums));
    byte_write_u64(&writer, sum_header(writer.data, sums.data, count));
    byte_write_bytes(&writer, sums.data, sums.size);
    TRY(byte_writer_check(&writer));
    return write_at(job->descriptor, writer.data, writer.size, 0);
}

static Error *write_all(WriteJob *job, const WeightKey *key, WorkerPool *pool) {
    size_t count = (size_t)piece_count(key->size);
    (void)pthread_mutex_init(&job->mutex, NULL);
    Error *error = worker_pool_for_each(pool, count, write_piece, job);
    if (!error) error = write_header(job, key);
    for (size_t i = 0; i < job->free_count; i++) memory_free(job->free_buffers[i]);
    (void)pthread_mutex_destroy(&job->mutex);
    return error;
}

Error *weight_file_write(
    int descriptor, const WeightKey *key, WeightReader reader, WorkerPool *pool) {
    void *sums, *buffers;
    TRY(check_size(key->size));
    size_t count = (size_t)piece_count(key->size);
    TRY(memory_alloc(count, sizeof(uint64_t), &sums));
    Error *error = memory_alloc(count, sizeof(void *), &buffers);
    if (!error) {
        WriteJob job = {.descriptor = descriptor,
            .size = key->size,
            .data_offset = data_offset(key->size),
            .reader = reader,
            .sums = sums,
            .free_buffers = buffers};
        error = write_all(&job, key, pool);
        memory_free(buffers);
    }
    memory_free(sums);
    return error;
}

/* ---- reading ---- */

static Error *check_header(const uint8_t *header, const WeightKey *key) {
    ByteReader reader = byte_reader(header, HEADER_SIZE);
    const uint8_t *magic, *executable, *layout;
    uint32_t version, piece_size;
    uint64_t size, sum;
    TRY(byte_read_view(&reader, sizeof MAGIC, &magic));
    TRY(byte_read_u32(&reader, &version));
    TRY(byte_read_u32(&reader, &piece_size));
    TRY(byte_read_view(&reader, DIGEST_SIZE, &executable));
    TRY(byte_read_view(&reader, DIGEST_SIZE, &layout));
    TRY(byte_read_u64(&reader, &size));
    TRY(byte_read_u64(&reader, &sum));
    if (memcmp(magic, MAGIC, sizeof MAGIC) != 0) FAIL(CORRUPT, "no file of prepared weights");
    if (version != VERSION || piece_size != WEIGHT_PIECE_SIZE)
        FAIL(UNSUPPORTED, "prepared weights of version %u", version);
    if (memcmp(executable, key->executable.bytes, DIGEST_SIZE) != 0 ||
        memcmp(layout, key->layout.bytes, DIGEST_SIZE) != 0 || size != key->size)
        FAIL(CORRUPT, "prepared weights of something else");
    if (sum != sum_header(header, header + HEADER_SIZE, (size_t)piece_count(size)))
        FAIL(CORRUPT, "the header of prepared weights has changed");
    return NULL;
}

Error *weight_file_read_size(int descriptor, uint64_t *out_size) {
    uint8_t bytes[sizeof *out_size];
    ssize_t size = pread(descriptor, bytes, sizeof bytes, SIZE_OFFSET);
    if (size < 0) FAIL(IO, "read prepared weights: %s", strerror(errno));
    ByteReader reader = byte_reader(bytes, (size_t)size);
    return byte_read_u64(&reader, out_size);
}

Error *weight_file_open(int descriptor, const WeightKey *key, WeightFile *out_file) {
    OWN(MappedFile, mapped) = NULL;
    TRY(error_recode(check_size(key->size), ERROR_CORRUPT));
    Error *error = mapped_file_open(descriptor, weight_file_size(key), &mapped);
    if (error_code(error) == ERROR_INVALID) /* the file is too short, so it is damaged */
        error = error_recode(error, ERROR_CORRUPT);
    TRY(error);
    const uint8_t *bytes = mapped_file_data(mapped);
    TRY(check_header(bytes, key));
    if (mapped_file_is_damaged(mapped)) FAIL(CORRUPT, "prepared weights became shorter");
    *out_file = (WeightFile){.data = bytes + data_offset(key->size),
        .sums = (const uint64_t *)(const void *)(bytes + HEADER_SIZE),
        .size = key->size};
    out_file->mapped = TAKE(mapped);
    return NULL;
}

void weight_file_close(WeightFile *file) {
    mapped_file_release(file->mapped);
    *file = (WeightFile){0};
}

size_t weight_file_piece_count(const WeightFile *file) { return (size_t)piece_count(file->size); }

Error *weight_file_check_piece(const WeightFile *file, size_t index) {
    uint64_t offset = (uint64_t)index * WEIGHT_PIECE_SIZE, left = file->size - offset, expected;
    size_t size = left < WEIGHT_PIECE_SIZE ? (size_t)left : WEIGHT_PIECE_SIZE;
    ByteReader reader = byte_reader(&file->sums[index], sizeof expected);
    TRY(byte_read_u64(&reader, &expected));
    if (digest_xxh3_seeded(file->data + offset, size, index) != expected)
        FAIL(CORRUPT, "piece %zu of prepared weights has changed", index);
    return NULL;
}
