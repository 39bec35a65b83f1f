#pragma once
/* What the files of the ONNX front end share: the import under way, scopes of names, one node with
 * its inputs looked up. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/name_map.h"
#include "base/text.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/ir_build.h"
#include "compiler/frontend/onnx_folder.h"
#include "compiler/frontend/onnx_names.h"
#include "compiler/frontend/onnx_tensor.h"
#include "onnx.pb-c.h"

enum {
    ONNX_CALL_DEPTH_MAX = 64,          /* local functions and graphs inside each other */
    ONNX_EXPANDED_NODES_MAX = 1 << 20, /* local functions are expanded where they are called */
};

/* A local function, and the attributes that it takes where a call does not give them. */
typedef struct OnnxLocalFunction {
    const Onnx__FunctionProto *proto;
    Onnx__AttributeProto **defaults;
    uint32_t default_count;
    /* With all calls expanded, at most ONNX_EXPANDED_NODES_MAX + 1; counted at the first call. */
    uint32_t node_count;
    bool counted;
} OnnxLocalFunction;

typedef struct OnnxImport {
    IrModule *module;
    Device *device; /* whose addresses are pointers: for constants */
    const OnnxFolder *folder;
    NameMap *functions; /* OnnxLocalFunction, by domain, name and overload */
    /* The address of a TensorProto in a function's body to its constant: however often the function
     * is expanded, its data is held once. */
    NameMap *constants;
    uint32_t node_count;  /* converted so far, with expansion */
    uint64_t sparse_left; /* bytes that sparse tensors may still take */
    OnnxNames dimension_names;
    bool shared; /* inputs share names of dimensions */
} OnnxImport;

/* The names of one graph or function body. */
typedef struct OnnxScope {
    const struct OnnxScope
        *outer;     /* where names not found here are looked up; NULL in main and function bodies */
    NameMap *names; /* to IrVariable */
    IrBlock *block; /* bindings go to its end */
    /* In a function's body: the function and the call, for attributes that refer to the caller's.
     */
    const OnnxLocalFunction *function;
    const Onnx__NodeProto *caller;
    const struct OnnxScope *caller_scope;
    int64_t opset; /* of the default domain */
    uint32_t depth;
} OnnxScope;

typedef struct OnnxNode {
    OnnxImport *import;
    OnnxScope *scope;
    const Onnx__NodeProto *proto;
    uint32_t input_count; /* without absent ones at the end */
    uint32_t output_count;
    IrVariable **inputs; /* NULL: absent */
} OnnxNode;

typedef Error *OnnxHandler(const OnnxNode *node);

static inline IrCursor onnx_at(const OnnxNode *node) { return ir_at_end(node->scope->block); }
static inline IrVariable *onnx_input(const OnnxNode *node, uint32_t index) {
    return index < node->input_count ? node->inputs[index] : NULL;
}

/* onnx_scope.c */
MUST_CHECK Error *onnx_scope_init(OnnxScope *scope, const OnnxScope *outer, IrBlock *block);
void onnx_scope_deinit(OnnxScope *scope);
MUST_CHECK Error *onnx_scope_set(OnnxScope *scope, const char *name, IrVariable *variable);
bool onnx_scope_has(const OnnxScope *scope, const char *name);
/* Errors: INVALID there is no value of that name. */
MUST_CHECK Error *onnx_scope_find(const OnnxScope *scope, const char *name, IrVariable **out);
/* The same; NULL for an input that the function's call leaves out. */
MUST_CHECK Error *onnx_scope_find_optional(
    const OnnxScope *scope, const char *name, IrVariable **out);
MUST_CHECK Error *onnx_scope_set_absent(OnnxScope *scope, const char *name);
/* Gives output index its variable; outputs that the node does not name are dropped. */
MUST_CHECK Error *onnx_node_set_output(const OnnxNode *node, uint32_t index, IrVariable *variable);

/* onnx_attribute.c: attributes of a node; references to a caller's are followed. */
const Onnx__AttributeProto *onnx_attribute_find(const OnnxNode *node, const char *name);
MUST_CHECK Error *onnx_attribute_int(
    const OnnxNode *node, const char *name, int64_t otherwise, int64_t *out);
/* NULL when it is absent. Errors: INVALID not a list of integers. */
MUST_CHECK Error *onnx_attribute_ints(
    const OnnxNode *node, const char *name, const Onnx__AttributeProto **out);
MUST_CHECK Error *onnx_attribute_graph(
    const OnnxNode *node, const char *name, const Onnx__GraphProto **out);
/* Errors: UNSUPPORTED an attribute that is none of these (NULL-terminated). */
MUST_CHECK Error *onnx_attribute_check(const OnnxNode *node, const char *const *known);
/* All attributes that the operator declares, but for `skipped` (NULL-terminated, or NULL). Errors:
 * UNSUPPORTED ones that it does not declare. */
MUST_CHECK Error *onnx_attribute_convert(
    const OnnxNode *node, const char *operator_name, const char *const *skipped, Attributes **out);

/* onnx_constant.c */
MUST_CHECK Error *onnx_constant_ints(
    const OnnxNode *node, const int64_t *values, size_t count, IrVariable **out);
MUST_CHECK Error *onnx_constant_floats(
    const OnnxNode *node, const float *values, size_t count, IrVariable **out);
MUST_CHECK Error *onnx_constant_int0(
    const OnnxNode *node, int64_t value, IrVariable **out); /* rank 0 */
MUST_CHECK Error *onnx_constant_float0(
    const OnnxNode *node, double value, DType dtype, IrVariable **out);
/* The same constant for the same proto. */
MUST_CHECK Error *onnx_constant_tensor(
    OnnxImport *import, const Onnx__TensorProto *proto, IrVariable **out);
MUST_CHECK Error *onnx_constant_sparse(
    OnnxImport *import, const Onnx__SparseTensorProto *proto, IrVariable **out);

/* onnx_legacy.c: the element type of a float tensor that nodes before compute. Types are inferred
 * behind the import, so it is followed back to where it is told: the first operand of nearly every
 * operator has its result's type, where both are floats. float32 where nothing tells it. */
DType onnx_float_type(const IrVariable *variable);

/* onnx_dimensions.c: NULL: it has none, or one that binds nothing ("", "?"). */
const char *onnx_dimension_name(const Onnx__TensorShapeProto__Dimension *dimension);
/* Takes names away from dimensions of the graph's inputs that they cannot all be meant for, with a
 * warning. */
MUST_CHECK Error *onnx_dimensions_check(IrModule *module, const Onnx__GraphProto *graph);
/* Names that stand in the shapes of several inputs: taken away from all but the first, with a
 * warning, where they are to mean nothing. */
MUST_CHECK Error *onnx_dimensions_share(
    IrModule *module, const Onnx__GraphProto *graph, OnnxNames names, bool *out_shared);

/* onnx_order.c: the nodes so that each stands behind what makes its inputs and what its graphs take
 * from around them: those of *inout_nodes where they are sorted, else from the arena. scope: has
 * what is there before the first. Errors: INVALID a cycle, with its nodes. */
MUST_CHECK Error *onnx_order_nodes(
    OnnxImport *import, const OnnxScope *scope, size_t count, Onnx__NodeProto *const **inout_nodes);

/* onnx_graph.c */
MUST_CHECK Error *onnx_graph_nodes(
    OnnxImport *import, OnnxScope *scope, Onnx__NodeProto *const *nodes, size_t count);
/* Initializers, nodes, then the variables of the outputs (n_output of them, from the arena). */
MUST_CHECK Error *onnx_graph_body(
    OnnxImport *import, OnnxScope *scope, const Onnx__GraphProto *graph, IrVariable ***out_results);
/* A port's type: a tensor, a sequence of them, an optional of one or the other. Errors: UNSUPPORTED
 * anything else. */
MUST_CHECK Error *onnx_graph_type(IrModule *module, const Onnx__ValueInfoProto *info, IrType *out);

static inline bool onnx_is_default_domain(const char *domain) {
    return !domain || !domain[0] || strcmp(domain, "ai.onnx") == 0;
}
/* onnx_import.c: the version of the default domain, 0 when it is not among them. Errors:
 * UNSUPPORTED one that is not read. */
MUST_CHECK Error *onnx_import_opset(
    Onnx__OperatorSetIdProto *const *imports, size_t count, int64_t *out);

/* onnx_function.c: all local functions of a model. */
typedef struct OnnxLocalFunctions {
    OnnxLocalFunction *items;
    size_t count;
} OnnxLocalFunctions;
/* Errors: INVALID two of one name; CORRUPT a default value that is no attribute. */
MUST_CHECK Error *onnx_functions_read(
    const Onnx__ModelProto *model, NameMap *by_key, OnnxLocalFunctions *out);
void onnx_functions_deinit(OnnxLocalFunctions *functions);
/* NULL: the node calls none. Errors: INVALID an overload that no function has. */
MUST_CHECK Error *onnx_function_find(
    NameMap *by_key, const Onnx__NodeProto *node, OnnxLocalFunction **out);
/* The function's nodes in the place of the call. */
MUST_CHECK Error *onnx_function_expand(const OnnxNode *node, OnnxLocalFunction *function);

/* onnx_node.c */
/* What messages call a node: its name, else its first output. */
const char *onnx_node_label(const Onnx__NodeProto *proto);
/* Error: UNSUPPORTED so many more nodes would be too many. */
MUST_CHECK Error *onnx_check_room(const OnnxImport *import, uint32_t nodes);
/* Converts one node, adding "node x (Op)" to errors. */
MUST_CHECK Error *onnx_node_convert(
    OnnxImport *import, OnnxScope *scope, const Onnx__NodeProto *proto);
/* The node as the operator of that name, attributes converted but for the skipped ones, these
 * inputs. */
MUST_CHECK Error *onnx_node_emit(const OnnxNode *node, const char *operator_name,
    const char *const *skipped, uint32_t input_count, IrVariable *const *inputs);

/* onnx_legacy_shapes.c: opset 1 has the lengths in the input's type, too. NULL stays. */
MUST_CHECK Error *onnx_legacy_split_lengths(const OnnxNode *node, IrVariable **inout_lengths);

/* Handlers, named in onnx_nodes.def. */
#define ONNX_NODE(op_type, handler) Error *handler(const OnnxNode *node);
#include "compiler/frontend/onnx_nodes.def"
#undef ONNX_NODE
