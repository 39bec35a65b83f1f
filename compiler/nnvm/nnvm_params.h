#pragma once
/* Files of named tensors: TVM's list of parameters (tvm.runtime.save_param_dict) and MXNet's
 * .params (mxnet.nd.save). The bytes are not trusted. Callers: nnvm_import.c, graph_translate.c.
 * Threads: one at a time; the tensors are copies on the host.
 *
 * TVM's:   u64 F7E58D4F05049CB7, u64 0, u64 count, names (u64 length, bytes), u64 count, tensors:
 *          u64 DD5E40F096B4A13F, u64 0, i32 device, i32 device id, i32 rank, u8 code, u8 bits,
 *          u16 lanes, rank × i64 dims, i64 bytes, the bytes
 * MXNet's: u64 112, u64 0, u64 count, tensors: u32 F993FAC9, i32 0 (dense), u32 rank,
 *          rank × i64 dims, i32 device, i32 device id, i32 element type, the bytes (older ones
 *          without the i32 0, or beginning with the rank and with dims of u32); then u64 count,
 *          names, with "arg:" or "aux:" before them, which is dropped */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/name_map.h"
#include "kernels/tensor/tensor.h"

typedef struct NnvmParam {
    char *name;
    Tensor *tensor;
    bool used; /* for the caller */
} NnvmParam;

typedef struct NnvmParams {
    uint64_t count;
    NnvmParam *items;
    NameMap *by_name; /* NnvmParam */
} NnvmParams;

/* data NULL: none. Errors: CORRUPT, UNSUPPORTED, each naming the tensor and the value. */
MUST_CHECK Error *nnvm_params_read(const uint8_t *data, size_t size, NnvmParams **out);
/* The same of the bytes that a library has beside its graph: u64 count, and TVM's list from its
 * names on; what follows is not read. */
MUST_CHECK Error *nnvm_params_read_inner(const uint8_t *data, size_t size, NnvmParams **out);
void nnvm_params_release(NnvmParams *params);
DEFINE_OWN(NnvmParams, nnvm_params_release);
NnvmParam *nnvm_params_find(const NnvmParams *params, const char *name);
/* The number of MXNet's element types: 0 is float32. DTYPE_NONE: none. */
DType nnvm_params_dtype(int64_t number);
