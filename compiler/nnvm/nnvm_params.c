#include "compiler/nnvm/nnvm_params.h"

#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/text.h"
#include "kernels/device/device.h"

enum { NAME_BYTES_MAX = 4096, NAME_BYTES_MIN = 8, TVM_TENSOR_BYTES = 44, MXNET_TENSOR_BYTES = 8 };
#define TVM_LIST UINT64_C(0xF7E58D4F05049CB7)
#define TVM_TENSOR UINT64_C(0xDD5E40F096B4A13F)
#define MXNET_LIST UINT64_C(0x112)
#define MXNET_TENSOR_V1 UINT32_C(0xF993FAC8)
#define MXNET_TENSOR_V2 UINT32_C(0xF993FAC9)
#define MXNET_TENSOR_V3 UINT32_C(0xF993FACA)

void nnvm_params_release(NnvmParams *params) {
    if (!params) return;
    for (uint64_t i = 0; params->items && i < params->count; i++) {
        memory_free(params->items[i].name);
        tensor_release(params->items[i].tensor);
    }
    memory_free(params->items);
    name_map_release(params->by_name);
    memory_free(params);
}

NnvmParam *nnvm_params_find(const NnvmParams *params, const char *name) {
    return name_map_find(params->by_name, name);
}

DType nnvm_params_dtype(int64_t number) {
    static const DType types[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_UINT8,
        DTYPE_INT32, DTYPE_INT8, DTYPE_INT64, DTYPE_BOOL, DTYPE_INT16, DTYPE_UINT16, DTYPE_UINT32,
        DTYPE_UINT64, DTYPE_BFLOAT16};
    const bool known = number >= 0 && number < (int64_t)(sizeof types / sizeof types[0]);
    return known ? types[number] : DTYPE_NONE;
}

/* Reads a count of things that take at least `least` bytes each. */
static Error *read_count(ByteReader *reader, size_t least, const char *what, uint64_t *out) {
    TRY(byte_read_u64(reader, out));
    if (*out > byte_reader_left(reader) / least)
        FAIL(CORRUPT, "%llu %s in the %zu bytes that are left", (unsigned long long)*out, what,
            byte_reader_left(reader));
    return NULL;
}

/* Copies a tensor's bytes, which must all be there. */
static Error *read_bytes(ByteReader *reader, DType dtype, const Shape *shape, Tensor **out) {
    OWN(Tensor, tensor) = NULL;
    const uint8_t *bytes;
    int64_t count = 1, size;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) FAIL(CORRUPT, "a dimension of %lld", (long long)shape->dims[i]);
        if (!checked_mul_i64(count, shape->dims[i], &count))
            FAIL(CORRUPT, "more elements than fit into memory");
    }
    if (!checked_mul_i64(count, dtype_bits(dtype) / 8, &size) ||
        (uint64_t)size > byte_reader_left(reader))
        FAIL(CORRUPT, "%lld elements of %s, but %zu bytes are left", (long long)count,
            dtype_name(dtype), byte_reader_left(reader));
    TRY(byte_read_view(reader, (size_t)size, &bytes));
    TRY(tensor_create_on_host(device_host(), dtype, shape, &tensor));
    if (size > 0) memcpy(tensor_data(tensor), bytes, (size_t)size);
    *out = TAKE(tensor);
    return NULL;
}

static Error *check_rank(uint32_t rank) {
    if (rank > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "%u dimensions; at most %d are read", rank, SHAPE_RANK_MAX);
    return NULL;
}

static Error *find_dtype(uint8_t code, uint8_t bits, uint16_t lanes, DType *out) {
    for (uint32_t i = 1; lanes == 1 && i < DTYPE_COUNT; i++) {
        uint8_t own_code, own_bits;
        if (!dtype_is_known(i) || !dtype_in(DTYPES_ANY, (DType)i)) continue;
        *out = (DType)i;
        if (dtype_to_dlpack(*out, &own_code, &own_bits) && own_code == code && own_bits == bits)
            return NULL;
    }
    *out = DTYPE_BOOL; /* before code 6, TVM wrote a bool as an unsigned integer of one bit */
    if (code == 1 && bits == 1 && lanes == 1) return NULL;
    FAIL(UNSUPPORTED, "the element type of code %u, %u bits and %u lanes", code, bits, lanes);
}

static Error *read_tvm_tensor(ByteReader *reader, Tensor **out) {
    uint64_t magic, reserved;
    uint32_t device, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    Shape shape = {0};
    DType dtype;
    int64_t size;
    TRY(byte_read_u64(reader, &magic));
    if (magic != TVM_TENSOR)
        FAIL(CORRUPT, "no tensor: it begins with %016llx", (unsigned long long)magic);
    TRY(byte_read_u64(reader, &reserved));
    TRY(byte_read_u32(reader, &device));
    TRY(byte_read_u32(reader, &device_id));
    TRY(byte_read_u32(reader, &rank));
    if (device != 1) FAIL(UNSUPPORTED, "a tensor of device type %u, not 1 (cpu)", device);
    TRY(check_rank(rank));
    TRY(byte_read_u8(reader, &code));
    TRY(byte_read_u8(reader, &bits));
    TRY(byte_read_u16(reader, &lanes));
    TRY(find_dtype(code, bits, lanes, &dtype));
    shape.rank = rank;
    for (uint32_t i = 0; i < rank; i++) TRY(byte_read_i64(reader, &shape.dims[i]));
    TRY(byte_read_i64(reader, &size));
    const size_t before = byte_reader_left(reader);
    TRY(read_bytes(reader, dtype, &shape, out));
    const size_t taken = before - byte_reader_left(reader);
    if ((int64_t)taken == size) return NULL;
    tensor_release(TAKE(*out));
    FAIL(CORRUPT, "%lld bytes for a shape of %zu", (long long)size, taken);
}

/* Reads dimensions of 4 or 8 bytes. */
static Error *read_mxnet_shape(ByteReader *reader, uint32_t rank, bool wide, Shape *out) {
    TRY(check_rank(rank));
    out->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t dim;
        if (wide) {
            TRY(byte_read_i64(reader, &out->dims[i]));
        } else {
            TRY(byte_read_u32(reader, &dim));
            out->dims[i] = dim;
        }
    }
    return NULL;
}

static Error *read_mxnet_tensor(ByteReader *reader, Tensor **out) {
    uint32_t magic, storage = 0, rank, device, device_id, type;
    Shape shape = {0};
    TRY(byte_read_u32(reader, &magic));
    const bool newest = magic == MXNET_TENSOR_V2 || magic == MXNET_TENSOR_V3;
    const bool wide = newest || magic == MXNET_TENSOR_V1;
    if (newest) TRY(byte_read_u32(reader, &storage));
    if (storage != 0) FAIL(UNSUPPORTED, "a sparse tensor (storage type %u)", storage);
    rank = magic;
    if (wide) TRY(byte_read_u32(reader, &rank));
    TRY(read_mxnet_shape(reader, rank, wide, &shape));
    if (rank == 0 && magic != MXNET_TENSOR_V3) FAIL(UNSUPPORTED, "a tensor that has no value");
    TRY(byte_read_u32(reader, &device));
    TRY(byte_read_u32(reader, &device_id));
    TRY(byte_read_u32(reader, &type));
    const DType dtype = nnvm_params_dtype((int32_t)type);
    if (dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "element type %d", (int32_t)type);
    return read_bytes(reader, dtype, &shape, out);
}

static Error *read_name(ByteReader *reader, bool mxnet, char **out) {
    uint64_t length;
    const uint8_t *bytes;
    TextBuilder OWN_TEXT(name) = {0};
    TRY(read_count(reader, 1, "bytes of a name", &length));
    if (length == 0 || length > NAME_BYTES_MAX)
        FAIL(CORRUPT, "a name of %llu bytes; 1 to %d are read", (unsigned long long)length,
            NAME_BYTES_MAX);
    TRY(byte_read_view(reader, (size_t)length, &bytes));
    if (memchr(bytes, 0, (size_t)length) || !text_is_utf8((const char *)bytes, (size_t)length))
        FAIL(CORRUPT, "a name that is no UTF-8 text");
    const bool marked =
        mxnet && length > 4 && (memcmp(bytes, "arg:", 4) == 0 || memcmp(bytes, "aux:", 4) == 0);
    const size_t skipped = marked ? 4 : 0;
    text_append_bytes(&name, (const char *)bytes + skipped, (size_t)length - skipped);
    return text_builder_take(&name, out);
}

static Error *read_names(ByteReader *reader, bool mxnet, NnvmParams *params) {
    for (uint64_t i = 0; i < params->count; i++)
        TRY_WRAP(
            read_name(reader, mxnet, &params->items[i].name), "name %llu", (unsigned long long)i);
    for (uint64_t i = 0; i < params->count; i++) {
        NnvmParam *param = &params->items[i];
        if (name_map_find(params->by_name, param->name))
            FAIL(CORRUPT, "two tensors are called %s", param->name);
        TRY(name_map_set(params->by_name, param->name, param));
    }
    return NULL;
}

static Error *read_tensors(ByteReader *reader, bool mxnet, NnvmParams *params) {
    for (uint64_t i = 0; i < params->count; i++) {
        NnvmParam *param = &params->items[i];
        Error *error = mxnet ? read_mxnet_tensor(reader, &param->tensor)
                             : read_tvm_tensor(reader, &param->tensor);
        TRY_WRAP(error, "tensor %llu%s%s", (unsigned long long)i, param->name ? " " : "",
            param->name ? param->name : "");
    }
    return NULL;
}

static Error *make_items(NnvmParams *params, uint64_t count) {
    void *memory;
    if (count == 0) return NULL;
    TRY(memory_alloc(count, sizeof *params->items, &memory));
    params->items = memory;
    params->count = count;
    return NULL;
}

static Error *check_same(uint64_t tensors, uint64_t names) {
    if (tensors != names)
        FAIL(CORRUPT, "%llu names for %llu tensors", (unsigned long long)names,
            (unsigned long long)tensors);
    return NULL;
}

static Error *read_all(ByteReader *reader, NnvmParams *params) {
    uint64_t magic, reserved, count, other;
    TRY(byte_read_u64(reader, &magic));
    if (magic != TVM_LIST && magic != MXNET_LIST)
        FAIL(CORRUPT,
            "neither a list of TVM (f7e58d4f05049cb7) nor of MXNet (112): it begins with %016llx",
            (unsigned long long)magic);
    TRY(byte_read_u64(reader, &reserved));
    const bool mxnet = magic == MXNET_LIST;
    const size_t tensor_bytes = mxnet ? MXNET_TENSOR_BYTES : TVM_TENSOR_BYTES;
    TRY(read_count(
        reader, mxnet ? tensor_bytes : NAME_BYTES_MIN, mxnet ? "tensors" : "names", &count));
    TRY(make_items(params, count));
    TRY(mxnet ? read_tensors(reader, true, params) : read_names(reader, false, params));
    TRY(read_count(
        reader, mxnet ? NAME_BYTES_MIN : tensor_bytes, mxnet ? "names" : "tensors", &other));
    TRY(mxnet ? check_same(count, other) : check_same(other, count));
    TRY(mxnet ? read_names(reader, true, params) : read_tensors(reader, false, params));
    return byte_reader_check_end(reader);
}

static Error *read_inner(ByteReader *reader, NnvmParams *params) {
    uint64_t count, other;
    TRY(read_count(reader, NAME_BYTES_MIN + TVM_TENSOR_BYTES, "params", &count));
    TRY(read_count(reader, NAME_BYTES_MIN, "names", &other));
    TRY(check_same(count, other));
    TRY(make_items(params, count));
    TRY(read_names(reader, false, params));
    return read_tensors(reader, false, params);
}

static Error *read_with(Error *(*read)(ByteReader *reader, NnvmParams *params), const uint8_t *data,
    size_t size, NnvmParams **out) {
    OWN(NnvmParams, params) = NULL;
    void *memory;
    TRY(memory_alloc(1, sizeof *params, &memory));
    params = memory;
    TRY(name_map_create(&params->by_name));
    if (data) {
        ByteReader reader = byte_reader(data, size);
        TRY_WRAP(read(&reader, params), "params");
    }
    *out = TAKE(params);
    return NULL;
}

Error *nnvm_params_read(const uint8_t *data, size_t size, NnvmParams **out) {
    return read_with(read_all, data, size, out);
}

Error *nnvm_params_read_inner(const uint8_t *data, size_t size, NnvmParams **out) {
    return read_with(read_inner, data, size, out);
}
