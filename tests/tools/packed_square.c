/* A library of packed functions, as users write them: what tests load. */
#include <stdlib.h>
#include <string.h>

#include "include/layover.h"

LAYOVER_API LayoverPackedLibrary layover_packed_library;

static const char *square(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    (void)context;
    if (argument_count != 1 || arguments[0].kind != LAYOVER_INT) return "square wants an integer";
    *out_result = *arguments;
    out_result->integer *= arguments[0].integer;
    return NULL;
}

const char *layover_packed_library(const LayoverPackedApi *api) {
    if (api->abi_version != LAYOVER_PACKED_ABI) return "another version of the interface";
    return api->add(api->registry, "test.square", 1, square, NULL, NULL);
}
