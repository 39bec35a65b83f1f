#include "tools/remote/output_pieces.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "base/name_map.h"
#include "serialize/arrays/npz.h"
#include "tools/remote/temporary_file.h"

/* The arrays of one name, in the order of the answers. */
typedef struct Group {
    NamedArray whole; /* element type and shape of the joined arrays */
    ArrayList items;
    struct Group *next;
} Group;

typedef struct Pieces {
    bool append;
    NameMap *names; /* from a name to its group */
    Group *first, **last;
} Pieces;

static void deinit_pieces(Pieces *pieces) {
    while (pieces->first) {
        Group *group = pieces->first;
        pieces->first = group->next;
        array_list_deinit(&group->items);
        memory_free(group);
    }
    name_map_release(pieces->names);
}
#define OWN_PIECES(name) __attribute__((cleanup(deinit_pieces))) name

static Error *add_group(Pieces *pieces, const NamedArray *array, Group **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Group), &memory));
    Group *group = memory;
    group->whole = (NamedArray){.dtype = array->dtype, .shape = array->shape};
    if (group->whole.shape.rank > 0) group->whole.shape.dims[0] = 0;
    *pieces->last = group;
    pieces->last = &group->next;
    *out = group;
    return name_map_set(pieces->names, array->name, group);
}

static Error *add_array(Pieces *pieces, NamedArray *inout_array) {
    Group *group = name_map_find(pieces->names, inout_array->name);
    if (!group)
        TRY(add_group(pieces, inout_array, &group));
    else if (!pieces->append || inout_array->shape.rank == 0)
        FAIL(INVALID, "two outputs are named %s", inout_array->name);
    Shape shape = inout_array->shape, *whole = &group->whole.shape;
    if (shape.rank > 0) shape.dims[0] = whole->dims[0];
    if (inout_array->dtype != group->whole.dtype || !shape_equal(&shape, whole))
        FAIL(CORRUPT, "outputs %s do not fit together", inout_array->name);
    if (shape.rank > 0) whole->dims[0] += inout_array->shape.dims[0];
    return array_list_add(&group->items, inout_array);
}

static Error *read_arrays(const char *path, ArrayList *out_arrays) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, SIZE_MAX >> 1, &data, &size));
    Error *error = npz_read(data, size, UINT64_MAX, out_arrays);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

static Error *read_piece(Pieces *pieces, const char *path) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    TRY(read_arrays(path, &arrays));
    for (size_t i = 0; i < arrays.count; i++) TRY(add_array(pieces, &arrays.items[i]));
    return NULL;
}

static Error *write_group(NpzWriter *writer, const Group *group) {
    NamedArray whole = {0};
    uint64_t at = 0;
    const ArrayList *items = &group->items;
    if (items->count == 1) return npz_writer_add(writer, &items->items[0]);
    if (group->whole.dtype == DTYPE_STRING || dtype_bits(group->whole.dtype) < 8)
        FAIL(UNSUPPORTED,
            "outputs %s: strings and elements of less than a byte come in several "
            "answers; fetch them with ?since=",
            items->items[0].name);
    TRY(named_array_init(&whole, items->items[0].name, group->whole.dtype, &group->whole.shape));
    for (size_t i = 0; i < items->count; i++) {
        const NamedArray *item = &items->items[i];
        if (item->size > 0) memcpy(whole.data + at, item->data, (size_t)item->size);
        at += item->size;
    }
    Error *error = npz_writer_add(writer, &whole);
    named_array_deinit(&whole);
    return error;
}

static Error *write_pieces(const Pieces *pieces, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    for (const Group *group = pieces->first; group; group = group->next)
        TRY(write_group(writer, group));
    TRY(npz_writer_finish(writer));
    return file_output_commit(output);
}

/* Fetches one answer. */
static Error *get(
    HttpClient *client, const char *job, int64_t since, const char *path, HttpClientReply *reply) {
    TextBuilder OWN_TEXT(address) = {0};
    char number[24];
    remote_path(&address, ROUTE_JOB_OUTPUTS, &job);
    (void)snprintf(number, sizeof number, "%lld", (long long)since);
    http_client_query(&address, "since", number);
    TRY(text_builder_check(&address));
    http_client_reply_deinit(reply);
    HttpClientCall call = {.path = text_builder_get(&address), .output = path};
    return http_client_call(client, &call, reply);
}

/* Fetches the answers behind the first one, each into a temporary file. */
static Error *get_rest(HttpClient *client, const char *job, int64_t outputs, const char *path,
    Pieces *pieces, HttpClientReply *reply) {
    TextBuilder OWN_TEXT(piece) = {0};
    uint64_t bytes = reply->bytes;
    text_appendf(&piece, "%s.part", path);
    TRY(text_builder_check(&piece));
    while (reply->next < outputs) {
        int64_t since = reply->next;
        TRY(get(client, job, since, text_builder_get(&piece), reply));
        Error *error = read_piece(pieces, text_builder_get(&piece));
        (void)unlink(text_builder_get(&piece));
        TRY(error);
        bytes += reply->bytes;
        if (reply->next <= since)
            FAIL(CONFLICT, "job %s: no answer has output %lld", job, (long long)since);
    }
    reply->bytes = bytes;
    return NULL;
}

Error *output_pieces_fetch(
    HttpClient *client, json_object *job, const char *path, HttpClientReply *reply) {
    const char *id = remote_text(job, "job");
    int64_t outputs = remote_int(job, "outputs");
    Pieces OWN_PIECES(pieces) = {.append = remote_int(job, "items_total") >= 0};
    pieces.last = &pieces.first;
    TRY(get(client, id, 0, path, reply));
    if (reply->next < 0 || reply->next >= outputs) return NULL;
    TRY(name_map_create(&pieces.names));
    TRY(read_piece(&pieces, path));
    TRY(get_rest(client, id, outputs, path, &pieces, reply));
    return write_pieces(&pieces, path);
}

Error *output_pieces_read(
    HttpClient *client, json_object *job, ArrayList *out_arrays, HttpClientReply *reply) {
    TemporaryFile OWN_TEMPORARY(file) = {0};
    TRY(temporary_file_create(&file));
    TRY(output_pieces_fetch(client, job, file.path, reply));
    return read_arrays(file.path, out_arrays);
}
