#include "bench/bench_npz.h"

#include <stdio.h>

#include "base/file.h"
#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npz.h"

Error *bench_npz_make(
    const char *folder, const Shape *shape, uint8_t **out_data, size_t *out_size) {
    char path[4096];
    NamedArray array;
    ArrayList OWN_ARRAYS(arrays) = {0};
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    (void)snprintf(path, sizeof path, "%s/in.npz", folder);
    TRY(named_array_init(&array, "a", DTYPE_FLOAT32, shape));
    TRY(array_list_add(&arrays, &array));
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    TRY(npz_writer_add(writer, &arrays.items[0]));
    TRY(npz_writer_finish(writer));
    TRY(file_output_commit(output));
    return file_read(path, SIZE_MAX, out_data, out_size);
}
