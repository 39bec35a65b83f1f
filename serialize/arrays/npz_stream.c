#include "serialize/arrays/npz_stream.h"

#include <pthread.h>

#include "base/allocator.h"
#include "serialize/arrays/zip_stream.h"

struct NpzStream {
    const NpzArray *array;
    pthread_mutex_t mutex;
    ZipStream *stream;
    size_t next; /* the first chunk that is not unpacked yet */
    bool failed;
    /* by index: unpacked chunks; the pages of a chunk that was read are returned to the system */
    uint8_t *slots[NPZ_STREAM_CHUNKS_MAX];
};

static Error *skip_head(NpzStream *self) {
    uint8_t head[512];
    for (size_t left = self->array->form.head_size; left > 0;) {
        size_t piece = left < sizeof head ? left : sizeof head;
        TRY(zip_stream_read(self->stream, head, piece));
        left -= piece;
    }
    return NULL;
}

Error *npz_stream_open(const NpzArray *array, NpzStream **out_stream) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NpzStream), &memory));
    NpzStream *self = memory;
    self->array = array;
    (void)pthread_mutex_init(&self->mutex, NULL);
    Error *error = zip_stream_open(array->member, &self->stream);
    if (!error) error = skip_head(self);
    if (error) {
        npz_stream_close(self);
        return error;
    }
    *out_stream = self;
    return NULL;
}

void npz_stream_close(NpzStream *stream) {
    if (!stream) return;
    for (size_t i = 0; i < NPZ_STREAM_CHUNKS_MAX; i++) memory_unmap(stream->slots[i], CHUNK_SIZE);
    zip_stream_close(stream->stream);
    (void)pthread_mutex_destroy(&stream->mutex);
    memory_free(stream);
}

static Error *unpack_next(NpzStream *self) {
    uint8_t **slot = &self->slots[self->next % NPZ_STREAM_CHUNKS_MAX];
    size_t size = chunk_raw_size(self->array->bytes, CHUNK_SIZE, self->next);
    void *memory;
    if (*slot) FAIL(INTERNAL, "chunk %zu is unpacked before its place is free", self->next);
    TRY(memory_map(CHUNK_SIZE, &memory));
    *slot = memory;
    TRY(zip_stream_read(self->stream, memory, size));
    TRY(npy_order_piece(&self->array->form, memory, size));
    self->next++;
    return NULL;
}

static Error *get(void *context, size_t index, const void **out_data) {
    NpzStream *self = context;
    Error *error = NULL;
    (void)pthread_mutex_lock(&self->mutex);
    while (!error && self->next <= index)
        error = self->failed ? error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                                   "its content could not be unpacked")
                             : unpack_next(self);
    self->failed |= error != NULL;
    *out_data = self->slots[index % NPZ_STREAM_CHUNKS_MAX];
    (void)pthread_mutex_unlock(&self->mutex);
    return error;
}

static void done(void *context, size_t index) {
    NpzStream *self = context;
    uint8_t **slot = &self->slots[index % NPZ_STREAM_CHUNKS_MAX];
    (void)pthread_mutex_lock(&self->mutex);
    memory_unmap(*slot, CHUNK_SIZE);
    *slot = NULL;
    (void)pthread_mutex_unlock(&self->mutex);
}

RawChunks npz_stream_chunks(NpzStream *stream) { return (RawChunks){get, done, stream}; }

Error *npz_stream_finish(NpzStream *stream) { return zip_stream_finish(stream->stream); }
