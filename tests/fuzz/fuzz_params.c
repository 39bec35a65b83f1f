/* Files of named tensors: TVM's lists of params and MXNet's. */
#include <assert.h>

#include "compiler/nnvm/nnvm_params.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    OWN(NnvmParams, params) = NULL;
    Error *error = nnvm_params_read(data, size, &params);
    for (uint64_t i = 0; !error && i < params->count; i++)
        assert(nnvm_params_find(params, params->items[i].name) == &params->items[i]);
    error_free(error); /* every answer is right */
    nnvm_params_release(TAKE(params));
    error_free(nnvm_params_read_inner(data, size, &params)); /* every answer is right */
    return 0;
}
