/* The readers of array files: npz, npy, safetensors, told apart by their first bytes. */
#include <string.h>

#include "serialize/arrays/npy.h"
#include "serialize/arrays/npz.h"
#include "serialize/arrays/safetensors.h"
#include "serialize/arrays/zip_directory.h"
#include "tests/fuzz/fuzz_target.h"

static const uint64_t bytes_max = 16 << 20;

/* A member whose CRC is wrong is not parsed: hand its bytes to the parser all the same. */
static void parse_members(const uint8_t *data, size_t size) {
    ZipDirectory directory = {0};
    Error *error = zip_directory_read(data, size, &directory);
    for (size_t i = 0; !error && i < directory.count; i++) {
        const ZipMember *member = &directory.members[i];
        NamedArray array = {0};
        if (member->method == ZIP_STORED)
            error_free(npy_read(member->data, (size_t)member->size, "x", &array));
        named_array_deinit(&array);
    }
    error_free(error); /* every answer is right */
    zip_directory_deinit(&directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        error_free(npz_read(data, size, bytes_max, &arrays));
        parse_members(data, size);
    } else if (size >= 2 && memcmp(data, "\x93N", 2) == 0) {
        NamedArray array = {0};
        error_free(npy_read(data, size, "x", &array));
        named_array_deinit(&array);
    } else
        error_free(safetensors_read(data, size, &arrays));
    return 0;
}
