#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "serialize/npy.h"
#include "serialize/npz.h"
#include "serialize/zip_directory.h"

static const char member_suffix[] = ".npy";
enum { SUFFIX_SIZE = sizeof member_suffix - 1 };

static Error *read_named(const ZipMember *member, const char *name, NamedArray *out) {
    if (member->method == ZIP_STORED) { /* parsed where it stands */
        TRY(zip_member_check(member));
        return npy_read(member->data, (size_t)member->size, name, out);
    }
    void *unpacked = NULL;
    size_t size = (size_t)member->size;
    TRY(memory_map(size ? size : 1, &unpacked));
    Error *error = zip_member_read(member, unpacked);
    if (!error) error = npy_read(unpacked, size, name, out);
    memory_unmap(unpacked, size ? size : 1);
    return error;
}

static Error *read_member(const ZipMember *member, ArrayList *arrays) {
    size_t length = member->name_size;
    if (length < SUFFIX_SIZE ||
        memcmp(member->name + length - SUFFIX_SIZE, member_suffix, SUFFIX_SIZE) != 0)
        FAIL(INVALID, "not an array: its name does not end in .npy");
    void *memory = NULL;
    TRY(memory_alloc(length, 1, &memory));
    char *name = memcpy(memory, member->name, length);
    name[length - SUFFIX_SIZE] = 0;
    NamedArray array = {0};
    Error *error = read_named(member, name, &array);
    memory_free(name);
    TRY(error);
    return array_list_add(arrays, &array);
}

static Error *read_members(const ZipDirectory *directory, uint64_t bytes_max, ArrayList *arrays) {
    uint64_t left = bytes_max;
    for (size_t i = 0; i < directory->count; i++) {
        const ZipMember *member = &directory->members[i];
        if (member->size > left)
            FAIL(INVALID, "the arrays unpack to more than %llu bytes",
                (unsigned long long)bytes_max);
        left -= member->size;
        TRY_WRAP(read_member(member, arrays), "member %.*s", member->name_size, member->name);
    }
    TRY(array_list_check_names(arrays));
    return array_list_apply_dtypes(arrays);
}

Error *npz_read(const void *data, size_t size, uint64_t bytes_max, ArrayList *out_arrays) {
    ZipDirectory directory = {0};
    TRY(zip_directory_read(data, size, &directory));
    ArrayList arrays = {0};
    Error *error = read_members(&directory, bytes_max, &arrays);
    zip_directory_deinit(&directory);
    if (error) {
        array_list_deinit(&arrays);
        return error;
    }
    *out_arrays = arrays;
    return NULL;
}
