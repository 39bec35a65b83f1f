#include "serialize/arrays/npz_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/tensor/dtype_bits.h"
#include "serialize/arrays/zip_stream.h"

static const char member_suffix[] = ".npy", dtype_suffix[] = ".dtype";
enum { SUFFIX_SIZE = sizeof member_suffix - 1, DTYPE_SUFFIX_SIZE = sizeof dtype_suffix - 1 };
enum { DTYPE_TEXT_BYTES_MAX = 1024 };

void npz_file_close(NpzFile *file) {
    for (size_t i = 0; i < file->count; i++) memory_free(file->items[i].name);
    memory_free(file->items);
    zip_directory_deinit(&file->directory);
    *file = (NpzFile){0};
}

static Error *check_sizes(const ZipDirectory *directory, uint64_t bytes_max) {
    uint64_t left = bytes_max;
    if (directory->count > NPZ_ARRAYS_MAX)
        FAIL(INVALID, "%zu arrays; %d at most are read together", directory->count, NPZ_ARRAYS_MAX);
    for (size_t i = 0; i < directory->count; i++) {
        if (directory->members[i].size > left)
            FAIL(INVALID, "the arrays unpack to more than %llu bytes",
                (unsigned long long)bytes_max);
        left -= directory->members[i].size;
    }
    return NULL;
}

/* Reads only the head of a member. */
static Error *read_form(const ZipMember *member, NpyForm *out) {
    uint8_t prefix[NPY_PREFIX_SIZE];
    uint32_t size;
    void *memory;
    OWN(ZipStream, stream) = NULL;
    if (member->size < sizeof prefix) FAIL(CORRUPT, "not a npy file");
    TRY(zip_stream_open(member, &stream));
    TRY(zip_stream_read(stream, prefix, sizeof prefix));
    TRY(npy_head_size(prefix, &size));
    if (size < sizeof prefix || size > member->size) FAIL(CORRUPT, "its header ends too early");
    TRY(memory_alloc(size, 1, &memory));
    uint8_t *head = memcpy(memory, prefix, sizeof prefix);
    Error *error = zip_stream_read(stream, head + sizeof prefix, size - sizeof prefix);
    if (!error) error = npy_read_form(head, size, member->size, out);
    memory_free(memory);
    return error;
}

static Error *read_head(const ZipMember *member, NpzArray *out) {
    size_t length = member->name_size;
    void *memory;
    if (length < SUFFIX_SIZE ||
        memcmp(member->name + length - SUFFIX_SIZE, member_suffix, SUFFIX_SIZE) != 0)
        FAIL(INVALID, "not an array: its name does not end in .npy");
    TRY(read_form(member, &out->form));
    out->dtype = out->form.dtype;
    out->shape = out->form.header.shape;
    out->bytes = out->form.size;
    out->member = member;
    TRY(memory_alloc(length, 1, &memory));
    out->name = memcpy(memory, member->name, length);
    out->name[length - SUFFIX_SIZE] = 0;
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const NpzArray *const *)a)->name, (*(const NpzArray *const *)b)->name);
}

/* Pointers to all by name: a file may have too many to compare each with each. */
static Error *sort_by_name(const NpzFile *file, NpzArray ***out) {
    void *memory;
    TRY(memory_alloc(file->count + 1, sizeof(NpzArray *), &memory));
    NpzArray **sorted = memory;
    for (size_t i = 0; i < file->count; i++) sorted[i] = &file->items[i];
    if (file->count > 0) qsort(sorted, file->count, sizeof *sorted, compare_names);
    *out = sorted;
    return NULL;
}

static Error *check_names(NpzArray *const *sorted, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            FAIL(INVALID, "two arrays are named %s", sorted[i]->name);
    return NULL;
}

/* The array whose element type NAME.dtype holds, or NULL. */
static NpzArray *find_described(
    const NpzArray *description, NpzArray *const *sorted, size_t count) {
    size_t length = strlen(description->name);
    if (length < DTYPE_SUFFIX_SIZE || !text_ends_with(description->name, dtype_suffix) ||
        description->form.dtype != DTYPE_STRING || !description->member ||
        shape_count_unchecked(&description->shape) != 1 ||
        description->form.size > DTYPE_TEXT_BYTES_MAX)
        return NULL;
    length -= DTYPE_SUFFIX_SIZE;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = sorted[middle]->name;
        int order = strncmp(name, description->name, length);
        if (order == 0 && !name[length]) return sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static Error *describe(NpzArray *array, const NpzArray *description) {
    NamedArray text = {0};
    TRY(npz_array_read(description, &text));
    Error *error = array_find_described_dtype(text.texts[0], array->form.dtype, &array->dtype);
    named_array_deinit(&text);
    TRY(error);
    return array->dtype == DTYPE_STRING ? NULL
                                        : shape_bytes(&array->shape, array->dtype, &array->bytes);
}

static Error *apply_dtypes(NpzFile *file, NpzArray *const *sorted) {
    void *memory;
    TRY(memory_alloc(file->count + 1, sizeof(bool), &memory));
    bool *drop = memory;
    Error *error = NULL;
    for (size_t i = 0; i < file->count && !error; i++) {
        NpzArray *described = find_described(&file->items[i], sorted, file->count);
        if (!described) continue;
        error = error_wrap(describe(described, &file->items[i]), "array %s", described->name);
        drop[i] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < file->count && !error; i++) {
        if (drop[i])
            memory_free(file->items[i].name);
        else
            file->items[kept++] = file->items[i];
    }
    if (!error) file->count = kept;
    memory_free(drop);
    return error;
}

static Error *read_heads(NpzFile *file) {
    const ZipDirectory *directory = &file->directory;
    void *memory;
    TRY(memory_alloc(directory->count + 1, sizeof(NpzArray), &memory));
    file->items = memory;
    for (size_t i = 0; i < directory->count; i++) {
        const ZipMember *member = &directory->members[i];
        TRY_WRAP(read_head(member, &file->items[file->count]), "member %.*s", member->name_size,
            member->name);
        file->count++;
    }
    NpzArray **sorted;
    TRY(sort_by_name(file, &sorted));
    Error *error = check_names(sorted, file->count);
    if (!error) error = apply_dtypes(file, sorted);
    memory_free(sorted);
    for (size_t i = 0; i < file->count && !error; i++) file->bytes += file->items[i].bytes;
    return error;
}

Error *npz_file_open(const void *data, size_t size, uint64_t bytes_max, NpzFile *out) {
    NpzFile file = {0};
    TRY(zip_directory_read(data, size, &file.directory));
    Error *error = check_sizes(&file.directory, bytes_max);
    if (!error) error = read_heads(&file);
    if (error) {
        npz_file_close(&file);
        return error;
    }
    *out = file;
    return NULL;
}

bool npz_array_is_streamable(const NpzArray *array) {
    return npy_form_is_plain(&array->form) && dtype_bits(array->dtype) >= 8;
}

uint64_t npz_array_read_bytes(const NpzArray *array) {
    enum { TEXT_COPIES = 6, COPIES = 3 };
    uint64_t count = (uint64_t)shape_count_unchecked(&array->shape);
    if (array->form.dtype == DTYPE_STRING)
        return TEXT_COPIES * (array->form.size + count * sizeof(char *));
    return npz_array_is_streamable(array) ? array->bytes : COPIES * array->form.size;
}

static Error *read_plain(const NpzArray *array, NamedArray *out) {
    OWN(ZipStream, stream) = NULL;
    uint8_t head[512];
    TRY(zip_stream_open(array->member, &stream));
    for (size_t left = array->form.head_size; left > 0;) {
        size_t piece = left < sizeof head ? left : sizeof head;
        TRY(zip_stream_read(stream, head, piece));
        left -= piece;
    }
    TRY(named_array_init(out, array->name, array->form.dtype, &array->shape));
    TRY(zip_stream_read(stream, out->data, (size_t)out->size));
    TRY(zip_stream_finish(stream));
    return npy_order_piece(&array->form, out->data, (size_t)out->size);
}

static Error *read_whole(const NpzArray *array, NamedArray *out) {
    const ZipMember *member = array->member;
    size_t size = (size_t)member->size;
    void *unpacked;
    if (member->method == ZIP_STORED) { /* parsed in the file's memory */
        TRY(zip_member_check(member));
        return npy_read(member->data, size, array->name, out);
    }
    TRY(memory_map(size, &unpacked));
    Error *error = zip_member_read(member, unpacked);
    if (!error) error = npy_read(unpacked, size, array->name, out);
    memory_unmap(unpacked, size);
    return error;
}

Error *npz_array_read(const NpzArray *array, NamedArray *out_array) {
    NamedArray made = {0};
    bool plain = npy_form_is_plain(&array->form);
    Error *error = plain ? read_plain(array, &made) : read_whole(array, &made);
    error = error_wrap(error, "member %.*s", array->member->name_size, array->member->name);
    if (!error)
        error = error_wrap(named_array_describe(&made, array->dtype), "array %s", array->name);
    if (error) {
        named_array_deinit(&made);
        return error;
    }
    *out_array = made;
    return NULL;
}

Error *npz_file_read(const NpzFile *file, ArrayList *inout_arrays) {
    for (size_t i = 0; i < file->count; i++) {
        NamedArray array = {0};
        TRY(npz_array_read(&file->items[i], &array));
        TRY(array_list_add(inout_arrays, &array));
    }
    return NULL;
}

Error *npz_array_outline(const NpzArray *array, NamedArray *out_array) {
    if (array->dtype != DTYPE_STRING)
        return named_array_init(out_array, array->name, array->dtype, &array->shape);
    size_t count = (size_t)shape_count_unchecked(&array->shape);
    void *memory;
    TRY(memory_alloc(count + 1, sizeof(char *), &memory));
    const char **texts = memory;
    for (size_t i = 0; i < count; i++) texts[i] = "";
    Error *error = named_array_init_texts(out_array, array->name, &array->shape, texts);
    memory_free(memory);
    return error;
}
