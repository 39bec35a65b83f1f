#include "serialize/arrays/npz.h"
#include "serialize/arrays/npz_file.h"

Error *npz_read(const void *data, size_t size, uint64_t bytes_max, ArrayList *out_arrays) {
    NpzFile OWN_NPZ(file) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    TRY(npz_file_open(data, size, bytes_max, &file));
    TRY(npz_file_read(&file, &arrays));
    *out_arrays = arrays;
    arrays = (ArrayList){0};
    return NULL;
}
