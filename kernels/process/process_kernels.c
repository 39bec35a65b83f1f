#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/process/process_internal.h"

enum { TABLES_MAX = 256, ROWS_MAX = 4096, NAMES_MAX = 4096, NAME_MAX_BYTES = 64 };

/* ---- names ---- */

static const char *find_name(const ProcessNames *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return names->items[i];
    return NULL;
}

static const char *keep_locked(ProcessNames *names, char *owned_name) {
    const char *kept = find_name(names, owned_name);
    if (kept) {
        memory_free(owned_name);
        return kept;
    }
    void *array = names->items;
    Error *error = names->count < NAMES_MAX
                       ? memory_grow(&array, names->count, &names->capacity, sizeof(char *))
                       : error_make(ERROR_EXHAUSTED, __FILE__, __LINE__, "names");
    names->items = array;
    if (error) { /* the name is only shown to people */
        error_free(error);
        memory_free(owned_name);
        return "worker";
    }
    names->items[names->count++] = owned_name;
    return owned_name;
}

const char *process_names_keep(ProcessDevice *device, char *owned_name) {
    (void)pthread_mutex_lock(&device->mutex);
    const char *kept = keep_locked(&device->names, owned_name);
    (void)pthread_mutex_unlock(&device->mutex);
    return kept;
}

/* ---- tables ---- */

static Error *read_row(ProcessDevice *device, ByteReader *reader, Kernel *out) {
    char *operator_name = NULL, *name = NULL;
    TRY(byte_read_text(reader, NAME_MAX_BYTES, &operator_name));
    const OperatorInfo *info = operator_find(operator_name);
    memory_free(operator_name);
    if (!info) FAIL(CORRUPT, "a kernel for no operator");
    TRY(byte_read_u32(reader, &out->dtypes));
    TRY(byte_read_u32(reader, &out->flags));
    TRY(byte_read_text(reader, NAME_MAX_BYTES, &name));
    out->operator_id = info->id;
    out->name = keep_locked(&device->names, name);
    return NULL;
}

/* Reads a table of kernels; the zeroed row at its end is KERNELS_END. */
static Error *read_table(ProcessDevice *device, ByteReader *reader, const Kernel **out) {
    uint32_t count;
    void *memory;
    TRY(byte_read_count(reader, 16, &count));
    if (count > ROWS_MAX) FAIL(CORRUPT, "%u kernels", count);
    TRY(memory_alloc(count + 1, sizeof(Kernel), &memory));
    *out = memory;
    for (uint32_t i = 0; i < count; i++) TRY(read_row(device, reader, (Kernel *)memory + i));
    return NULL;
}

static void free_tables(const Kernel **tables) {
    for (size_t i = 0; tables && tables[i]; i++) memory_free((void *)(uintptr_t)tables[i]);
    memory_free(tables);
}

static Error *read_tables(ProcessDevice *device, const ByteWriter *answer) {
    ByteReader reader = byte_reader(answer->data, answer->size);
    uint32_t count;
    void *memory;
    TRY(byte_read_count(&reader, 4, &count));
    if (count > TABLES_MAX) FAIL(CORRUPT, "%u tables of kernels", count);
    TRY(memory_alloc(count + 1, sizeof(Kernel *), &memory));
    const Kernel **tables = memory;
    Error *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++) error = read_table(device, &reader, &tables[i]);
    if (!error) error = byte_reader_check_end(&reader);
    if (error)
        free_tables(tables);
    else
        device->tables = tables;
    return error;
}

static Error *ask(Device *device, ByteWriter *answer) {
    ProcessPlace place;
    TRY(process_place_init(device, NULL, &place));
    Error *error =
        process_channel_call(place.channel, PROCESS_CALL_KERNELS, NULL, (ProcessBytes){0}, answer);
    process_place_deinit(&place);
    return error;
}

const struct Kernel *const *process_kernels(Device *base) {
    static const Kernel *const none[] = {NULL};
    ProcessDevice *device = process_device(base);
    ByteWriter OWN_BYTES(answer) = {0};
    Error *error = ask(base, &answer);
    (void)pthread_mutex_lock(&device->mutex);
    if (!error && !device->tables) error = read_tables(device, &answer);
    const Kernel *const *tables = device->tables ? device->tables : none;
    (void)pthread_mutex_unlock(&device->mutex);
    error_free(error); /* the list is then empty */
    return tables;
}

void process_kernels_deinit(ProcessDevice *device) {
    free_tables(device->tables);
    for (size_t i = 0; i < device->names.count; i++) memory_free(device->names.items[i]);
    memory_free(device->names.items);
}
