#pragma once
/* Maps from keys to values: a tuple of two tensors inside a module, keys [n] and values [n] (of a
 * list of maps with the same keys: values [maps, n]). At its border a map NAME is two ports,
 * NAME.keys and NAME.values. Called by the import of the main graph and by handlers of nodes.
 * Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

/* Whether a value of this type is a map, or a list of maps. */
bool onnx_type_is_map(const Onnx__TypeProto *type);
/* The name of the port of a map's keys or values, in the module. */
MUST_CHECK Error *onnx_map_port(
    IrModule *module, const char *name, const char *part, const char **out);
/* Adds the two parameters of a map, and what refuses equal keys when the function runs. Errors:
 * UNSUPPORTED a list of maps, keys that are neither int64 nor strings. */
MUST_CHECK Error *onnx_map_add_parameters(
    IrFunction *function, const Onnx__ValueInfoProto *info, IrVariable **out_map);
/* The two tensors of a map. Errors: INVALID the value is no map. */
MUST_CHECK Error *onnx_map_open(
    IrCursor at, IrVariable *map, IrVariable **out_keys, IrVariable **out_values);
/* The types of a map's two tensors, as an output declares them. */
MUST_CHECK Error *onnx_map_types(const Onnx__TypeProto *type, IrType out[2]);
