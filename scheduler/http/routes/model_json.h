#pragma once
/* Models, versions and results of the store as JSON, for HTTP (route_models.c, route_store.c) and
 * the command line. Pure: no state. */
#include <json-c/json_object.h>

#include "base/text.h"
#include "store/upkeep/fsck.h"
#include "store/upkeep/gc.h"
#include "store/models/models.h"
#include "vm/code/executable.h"

/* {"name", "inputs": [{"name", "dtype", "shape", "symbols"}], "outputs"} of every exported
 * function. symbols: the names of free dimensions, if there are any. */
MUST_CHECK Error *model_functions_json(const Executable *executable, json_object **out);
/* {"model", "version", "aliases", "executable", "bytes_raw", "bytes_stored", "created"} */
MUST_CHECK Error *model_version_json(const ModelVersion *version, json_object **out);
/* model_version_json with "functions", and with "lowered_to" (bf16 or int8) if a part is
 * lowered. */
MUST_CHECK Error *model_json(
    const ModelVersion *version, const Executable *executable, json_object **out);
/* Adds the compiler's warnings, given as lines, as the array "warnings", if there are any. */
void model_warnings_json(const TextBuilder *lines, json_object *inout_object);
MUST_CHECK Error *model_fsck_json(const FsckResult *result, json_object **out);
/* count: versions. */
MUST_CHECK Error *model_removed_json(uint64_t count, json_object **out);
MUST_CHECK Error *model_gc_json(const GcResult *result, json_object **out);
