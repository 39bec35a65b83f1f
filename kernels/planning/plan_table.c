#include "kernels/planning/plan_table.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "kernels/device/device.h"
#include "kernels/shape_rules/operator_infer.h"

/* No sensible shape has longer values; calls with longer ones are planned each time. */
enum { KEY_VALUE_BYTES_MAX = 4096, BUCKET_COUNT_MIN = 64 };

typedef struct Entry {
    uint64_t hash;
    uint8_t *key;
    size_t key_size;
    Plan *plan;
    uint32_t next; /* index + 1 of the next entry in the bucket; 0 ends */
} Entry;

struct PlanTable {
    struct Device *device;
    pthread_mutex_t mutex; /* guards the members below */
    Entry *entries;
    size_t count;
    size_t capacity;
    uint32_t *buckets; /* index + 1; bucket_count is a power of two */
    size_t bucket_count;
    size_t oldest; /* once full: the entry to be replaced next */
};

Error *plan_table_create(struct Device *device, PlanTable **out) {
    OWN(PlanTable, table) = NULL;
    void *block;
    TRY(memory_alloc(1, sizeof(PlanTable), &block));
    table = block;
    table->device = device;
    (void)pthread_mutex_init(&table->mutex, NULL);
    TRY(memory_alloc(BUCKET_COUNT_MIN, sizeof table->buckets[0], &block));
    table->buckets = block;
    table->bucket_count = BUCKET_COUNT_MIN;
    *out = TAKE(table);
    return NULL;
}

void plan_table_release(PlanTable *table) {
    if (!table) return;
    for (size_t i = 0; i < table->count; i++) {
        memory_free(table->entries[i].key);
        plan_release(table->entries[i].plan);
    }
    memory_free(table->entries);
    memory_free(table->buckets);
    (void)pthread_mutex_destroy(&table->mutex);
    memory_free(table);
}

/* The key: the wanted outputs and everything about the inputs that a plan may depend on. False when
 * the plan should not be kept. */
static bool write_key(uint32_t primitive, const PlanRequest *request, ByteWriter *writer) {
    byte_write_u32(writer, primitive);
    byte_write_u32(writer, request->input_count);
    byte_write_u32(writer, request->output_count);
    for (uint32_t i = 0; i < request->input_count; i++) {
        const TensorSpec *input = &request->inputs[i];
        byte_write_u8(writer, input->present);
        if (!input->present) continue;
        byte_write_u32(writer, (uint32_t)input->dtype);
        byte_write_u32(writer, input->layout);
        byte_write_u32(writer, input->shape.rank);
        byte_write_bytes(
            writer, input->shape.dims, input->shape.rank * sizeof input->shape.dims[0]);
        if (!operator_reads_value(request->operator_info, i)) continue;
        if (!request->values || !request->values[i]) continue;
        uint64_t bytes;
        Error *error = shape_bytes(&input->shape, input->dtype, &bytes);
        if (error || bytes > KEY_VALUE_BYTES_MAX) {
            error_free(error); /* operator_infer reports it */
            return false;
        }
        byte_write_bytes(writer, request->values[i], bytes);
    }
    return !writer->failed;
}

static Entry *find(PlanTable *table, uint64_t hash, const ByteWriter *key) {
    uint32_t at = table->buckets[hash & (table->bucket_count - 1)];
    while (at) {
        Entry *entry = &table->entries[at - 1];
        if (entry->hash == hash && entry->key_size == key->size &&
            memcmp(entry->key, key->data, key->size) == 0)
            return entry;
        at = entry->next;
    }
    return NULL;
}

static void link_entry(PlanTable *table, size_t index) {
    Entry *entry = &table->entries[index];
    uint32_t *bucket = &table->buckets[entry->hash & (table->bucket_count - 1)];
    entry->next = *bucket;
    *bucket = (uint32_t)index + 1;
}

static void unlink_entry(PlanTable *table, size_t index) {
    const Entry *entry = &table->entries[index];
    uint32_t *at = &table->buckets[entry->hash & (table->bucket_count - 1)];
    while (*at != (uint32_t)index + 1) at = &table->entries[*at - 1].next;
    *at = entry->next;
}

/* Doubles the table when it has more entries than buckets. */
static Error *grow_buckets(PlanTable *table) {
    if (table->count < table->bucket_count) return NULL;
    void *block;
    TRY(memory_alloc(table->bucket_count * 2, sizeof table->buckets[0], &block));
    memory_free(table->buckets);
    table->buckets = block;
    table->bucket_count *= 2;
    for (size_t i = 0; i < table->count; i++) link_entry(table, i);
    return NULL;
}

/* Consumes the key's bytes on success only. */
static Error *insert(PlanTable *table, uint64_t hash, ByteWriter *key, Plan *plan) {
    size_t index = table->count;
    if (table->count == PLAN_TABLE_COUNT_MAX) {
        index = table->oldest;
        table->oldest = (table->oldest + 1) % PLAN_TABLE_COUNT_MAX;
        unlink_entry(table, index);
        memory_free(table->entries[index].key);
        plan_release(table->entries[index].plan);
    } else {
        void *array = table->entries;
        TRY(memory_grow(&array, table->count, &table->capacity, sizeof table->entries[0]));
        table->entries = array;
        TRY(grow_buckets(table));
        table->count++;
    }
    table->entries[index] = (Entry){hash, key->data, key->size, plan_retain(plan), 0};
    *key = (ByteWriter){0};
    link_entry(table, index);
    return NULL;
}

static Plan *look_up(PlanTable *table, uint64_t hash, const ByteWriter *key) {
    (void)pthread_mutex_lock(&table->mutex);
    Entry *entry = find(table, hash, key);
    Plan *plan = entry ? plan_retain(entry->plan) : NULL;
    (void)pthread_mutex_unlock(&table->mutex);
    return plan;
}

static Error *make(Device *device, PlanRequest *request, Plan **out) {
    TRY(operator_infer(request));
    if (!device->class_->plan)
        FAIL(UNSUPPORTED, "%s: no kernel for %s", device->name, request->operator_info->name);
    return device->class_->plan(device, request, out);
}

Error *plan_table_get(PlanTable *table, uint32_t primitive, PlanRequest *request, Plan **out) {
    ByteWriter OWN_BYTES(key) = {0};
    bool kept = write_key(primitive, request, &key);
    uint64_t hash = kept ? digest_xxh3(key.data, key.size) : 0;
    Plan *found = kept ? look_up(table, hash, &key) : NULL;
    if (found) {
        memcpy(request->outputs, found->outputs, found->output_count * sizeof(TensorSpec));
        *out = found;
        return NULL;
    }
    OWN(Plan, plan) = NULL;
    TRY(make(table->device, request, &plan));
    if (kept) {
        (void)pthread_mutex_lock(&table->mutex);
        Entry *entry = find(table, hash, &key); /* another thread may have added the plan first */
        Plan *other = entry ? plan_retain(entry->plan) : NULL;
        Error *error = entry ? NULL : insert(table, hash, &key, plan);
        (void)pthread_mutex_unlock(&table->mutex);
        error_free(error); /* the plan is good without being kept */
        if (other) {
            plan_release(plan);
            plan = other;
        }
    }
    *out = TAKE(plan);
    return NULL;
}
