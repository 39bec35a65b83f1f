/* A library as TVM up to 0.20 makes them: functions with the interface of that time. */
#include <stddef.h>

#include "kernels/native/native_older.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *__tvm_module_ctx;
EXPORTED void (*__TVMAPISetLastError)(const char *text);
EXPORTED int (*__TVMBackendGetFuncFromEnv)(void *context, const char *name, void **out);
EXPORTED int (*__TVMFuncCall)(void *function, OlderValue *values, int *types, int count,
    OlderValue *out_result, int *out_type);
EXPORTED void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
EXPORTED int (*__TVMBackendFreeWorkspace)(int, int, void *);

/* With SAMPLE_GRAPH, the library has a graph and its params inside, as TVM 0.7 to 0.19 export a
 * model as a whole: y = scale_twice(w). */
#ifdef SAMPLE_GRAPH
#define GRAPH                                                                                      \
    "{\"nodes\": [{\"op\": \"null\", \"name\": \"w\", \"inputs\": []}, {\"op\": \"tvm_op\", "      \
    "\"name\": "                                                                                   \
    "\"y\", \"attrs\": {\"func_name\": \"scale_twice\", \"num_inputs\": \"1\", \"num_outputs\": "  \
    "\"1\", "                                                                                      \
    "\"flatten_data\": \"0\"}, \"inputs\": [[0, 0, 0]]}], \"arg_nodes\": [0], \"heads\": [[1, 0, " \
    "0]], "                                                                                        \
    "\"attrs\": {\"dltype\": [\"list_str\", [\"float32\", \"float32\"]], \"storage_id\": "         \
    "[\"list_int\", [0, 1]], \"shape\": [\"list_shape\", [[2], [2]]]}, \"node_row_ptr\": [0, 1, "  \
    "2]}"
#define KIND "GraphExecutorFactory"
#define TREE "_import_tree"
typedef struct __attribute__((packed)) Blob {
    uint64_t size, modules;
    uint64_t kind_size;
    char kind[sizeof KIND - 1];
    uint64_t graph_size;
    char graph[sizeof GRAPH - 1];
    uint64_t params, names, name_size;
    char name[1];
    uint64_t magic, reserved;
    int32_t device, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t dim, bytes;
    float values[2];
    uint64_t module_size;
    char module[7];
    uint64_t library_size;
    char library[4];
    uint64_t tree_size;
    char tree[sizeof TREE - 1];
    uint64_t row_count, rows[3], child_count, children[1];
} Blob;
EXPORTED const Blob __tvm_dev_mblob;
const Blob __tvm_dev_mblob = {sizeof(Blob) - 8, 3, sizeof KIND - 1, KIND, sizeof GRAPH - 1, GRAPH,
    1, 1, 1, "w", UINT64_C(0xDD5E40F096B4A13F), 0, 1, 0, 1, 2, 32, 1, 2, 8, {1, -2}, 7, "default",
    4, "_lib", sizeof TREE - 1, TREE, 3, {0, 1, 1}, 1, {1}};
#endif

#define FUNCTION(name)                                                                             \
    EXPORTED OlderFunction name;                                                                   \
    int name(OlderValue *values, int *types, int count, OlderValue *out_result, int *out_type,     \
        void *resource)
#define UNUSED                                                                                     \
    (void)values, (void)types, (void)count, (void)out_result, (void)out_type, (void)resource

static int refuse_with(const char *text) {
    __TVMAPISetLastError(text);
    return -1;
}

/* b = 3 a - 1, through memory for an intermediate result */
FUNCTION(scale) {
    UNUSED;
    if (count != 2 || types[0] != OLDER_TENSOR || types[1] != OLDER_TENSOR)
        return refuse_with("Assert fail: two tensors are wanted");
    const DLTensor *from = values[0].pointer, *to = values[1].pointer;
    float *between = __TVMBackendAllocWorkspace(1, 0, sizeof(float), 2, 32);
    if (!between) return -1;
    int64_t elements = 1;
    for (int i = 0; i < from->ndim; i++) elements *= from->shape[i];
    for (int64_t i = 0; i < elements; i++) {
        *between = 3 * ((float *)from->data)[i];
        ((float *)to->data)[i] = *between - 1;
    }
    return __TVMBackendFreeWorkspace(1, 0, between);
}

/* Twice scale, which is found by its name. */
FUNCTION(scale_twice) {
    UNUSED;
    void *function;
    OlderValue again[2] = {values[1], values[1]};
    if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "scale", &function) != 0) return -1;
    if (__TVMFuncCall(function, values, types, 2, out_result, out_type) != 0) return -1;
    return __TVMFuncCall(function, again, types, 2, out_result, out_type);
}

/* b = not a, of bools as they were written then */
FUNCTION(invert) {
    UNUSED;
    const DLTensor *from = values[0].pointer, *to = values[1].pointer;
    if (from->dtype.code != kDLUInt || from->dtype.bits != 1)
        return refuse_with("Assert fail: uint1 is wanted");
    for (int64_t i = 0; i < from->shape[0]; i++)
        ((uint8_t *)to->data)[i] = !((const uint8_t *)from->data)[i];
    return 0;
}

/* Gives the sum of an int and a float. */
FUNCTION(sum) {
    UNUSED;
    if (types[0] != OLDER_INT || types[1] != OLDER_FLOAT) return -3;
    out_result->real = (double)values[0].integer + values[1].real;
    *out_type = OLDER_FLOAT;
    return 0;
}

FUNCTION(call_nothing) {
    UNUSED;
    void *function;
    return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "tvm.contrib.cblas.matmul", &function);
}

FUNCTION(give_module) {
    UNUSED;
    *out_type = 9;
    return 0;
}
