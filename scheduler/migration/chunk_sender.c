#include "scheduler/migration/chunk_sender.h"

#include <pthread.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "scheduler/migration/chunk_batch.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/target_link.h"

void chunk_sender_init(
    ChunkSender *sender, HttpClient *client, const MigrationKey *key, uint64_t bytes_per_s) {
    *sender = (ChunkSender){.client = client, .key = *key, .bytes_per_s = bytes_per_s};
}

void chunk_sender_deinit(ChunkSender *sender) { digest_set_deinit(&sender->known); }

void chunk_sender_forget(ChunkSender *sender) {
    digest_set_deinit(&sender->known);
    sender->known = (DigestSet){0};
}

ChunksSent chunk_sender_get_sent(const ChunkSender *sender) {
    return (ChunksSent){.bytes = atomic_load(&sender->sent),
        .round_bytes = atomic_load(&sender->round_bytes),
        .round_sent = atomic_load(&sender->round_sent)};
}

/* The chunks that the target is not known to have. */
typedef struct NewRefs {
    ChunkRef *items;
    size_t count, capacity;
} NewRefs;

static void new_refs_deinit(NewRefs *refs) { memory_free(refs->items); }

static Error *add_new(
    const ChunkSender *sender, const ChunkRef *refs, size_t count, NewRefs *inout) {
    for (size_t i = 0; i < count; i++) {
        void *items = inout->items;
        if (digest_set_find(&sender->known, &refs[i].hash)) continue;
        TRY(memory_grow(&items, inout->count, &inout->capacity, sizeof *inout->items));
        inout->items = items;
        inout->items[inout->count++] = refs[i];
    }
    return NULL;
}

/* The missing chunks, taken batch by batch by both connections. */
typedef struct Sending {
    ChunkSender *sender;
    ChunkSource source;
    const ChunkRef *refs;
    size_t count;
    const uint8_t *bits;
    pthread_mutex_t mutex; /* guards the next two */
    size_t next;
    Error *error; /* the first one: no batch is begun after it */
} Sending;

static void keep_error(Sending *sending, Error *owned_error) {
    (void)pthread_mutex_lock(&sending->mutex);
    bool first = owned_error && !sending->error;
    if (first) sending->error = owned_error;
    (void)pthread_mutex_unlock(&sending->mutex);
    if (!first) error_free(owned_error);
}

/* Refs that make about one batch: [*out_begin, *out_end). False: there are no more. */
static bool take_batch(Sending *sending, size_t *out_begin, size_t *out_end) {
    uint64_t bytes = 0;
    (void)pthread_mutex_lock(&sending->mutex);
    size_t at = *out_begin = sending->next;
    if (sending->error) at = *out_begin = sending->count;
    for (; at < sending->count && bytes < CHUNK_BATCH_BYTES; at++)
        if (chunk_bits_get(sending->bits, at)) bytes += sending->refs[at].raw_size;
    sending->next = *out_end = at;
    (void)pthread_mutex_unlock(&sending->mutex);
    return *out_begin < *out_end;
}

static Error *read_batch(
    const Sending *sending, size_t begin, size_t end, ByteWriter *batch, uint64_t *out_raw) {
    ByteWriter OWN_BYTES(stored) = {0};
    batch->size = 0;
    *out_raw = 0;
    for (size_t i = begin; i < end; i++) {
        const ChunkRef *ref = &sending->refs[i];
        if (!chunk_bits_get(sending->bits, i)) continue;
        TRY(sending->source.get(sending->source.self, ref, &stored));
        chunk_batch_add(batch, ref, stored.data, stored.size);
        *out_raw += ref->raw_size;
    }
    return byte_writer_check(batch);
}

static Error *send_batch(Sending *sending, HttpClient *client, const ByteWriter *batch) {
    ChunkSender *sender = sending->sender;
    if (batch->size == 0) return NULL;
    if (sender->interrupted && sender->interrupted(sender->interrupted_context))
        FAIL(CANCELLED, "the migration was given up");
    const ChunkSending how = {
        sender->bytes_per_s, sender->interrupted, sender->interrupted_context};
    TRY(target_link_send_chunks(client, &sender->key, batch, &how));
    atomic_fetch_add(&sender->sent, batch->size);
    return NULL;
}

static Error *send_batches(Sending *sending, HttpClient *client) {
    ByteWriter OWN_BYTES(batch) = {0};
    size_t begin, end;
    uint64_t raw;
    while (take_batch(sending, &begin, &end)) {
        TRY(read_batch(sending, begin, end, &batch, &raw));
        TRY(send_batch(sending, client, &batch));
        atomic_fetch_add(&sending->sender->round_sent, raw);
    }
    return NULL;
}

static Error *send_second(Sending *sending) {
    OWN(HttpClient, client) = NULL;
    TRY(node_link_open(sending->sender->target, &client));
    return send_batches(sending, client);
}

static void *run_second(void *argument) {
    Sending *sending = argument;
    keep_error(sending, send_second(sending));
    return NULL;
}

/* round_bytes: of the missing chunks. A limited rate holds for one connection. */
static Error *send_missing(Sending *sending, uint64_t bytes) {
    const ChunkSender *sender = sending->sender;
    pthread_t thread;
    bool two = sender->target && !sender->bytes_per_s && bytes > 2 * CHUNK_BATCH_BYTES;
    (void)pthread_mutex_init(&sending->mutex, NULL);
    if (two) two = thread_start(&thread, "chunk-sender", run_second, sending);
    keep_error(sending, send_batches(sending, sender->client));
    if (two) (void)pthread_join(thread, NULL);
    (void)pthread_mutex_destroy(&sending->mutex);
    return sending->error;
}

static Error *note_known(ChunkSender *sender, const ChunkRef *refs, size_t count) {
    for (size_t i = 0; i < count; i++) TRY(digest_set_add(&sender->known, &refs[i].hash, 1));
    return NULL;
}

/* Asks about some chunks, and sends those that are missing. */
static Error *send_some(
    ChunkSender *sender, ChunkSource source, const ChunkRef *refs, size_t count) {
    uint8_t *bits;
    uint64_t bytes = 0;
    TRY(target_link_find_missing(sender->client, &sender->key, refs, count, &bits));
    for (size_t i = 0; i < count; i++)
        if (chunk_bits_get(bits, i)) bytes += refs[i].raw_size;
    atomic_fetch_add(&sender->round_bytes, bytes);
    Sending sending = {
        .sender = sender, .source = source, .refs = refs, .count = count, .bits = bits};
    Error *error = send_missing(&sending, bytes);
    memory_free(bits);
    return error ? error : note_known(sender, refs, count);
}

static Error *send_all(ChunkSender *sender, JobManifest *job_manifest, NewRefs *refs) {
    size_t count;
    const ChunkRef *items = job_manifest_model_chunks(job_manifest, &count);
    TRY(add_new(sender, items, count, refs));
    items = job_manifest_chunks(job_manifest, &count);
    TRY(add_new(sender, items, count, refs));
    for (size_t done = 0; done < refs->count; done += count) {
        count = refs->count - done < CHUNK_NAMES_MAX ? refs->count - done : CHUNK_NAMES_MAX;
        TRY(send_some(sender, job_manifest_source(job_manifest), refs->items + done, count));
    }
    return NULL;
}

Error *chunk_sender_send(ChunkSender *sender, JobManifest *job_manifest) {
    NewRefs refs = {0};
    atomic_store(&sender->round_bytes, 0);
    atomic_store(&sender->round_sent, 0);
    Error *error = send_all(sender, job_manifest, &refs);
    new_refs_deinit(&refs);
    return error;
}
