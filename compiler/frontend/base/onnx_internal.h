#pragma once
/* The parts that the files of the ONNX front end share: the running import, scopes of names, one
 * node with its inputs looked up. Threads: one at a time per import. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/name_map.h"
#include "base/text.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/ir_build.h"
#include "compiler/frontend/base/onnx_folder.h"
#include "compiler/frontend/base/onnx_names.h"
#include "compiler/frontend/base/onnx_tensor.h"
#include "onnx.pb-c.h"

enum {
    ONNX_CALL_DEPTH_MAX = 64,          /* nesting of local functions and graphs */
    ONNX_EXPANDED_NODES_MAX = 1 << 20, /* nodes after local functions are expanded at their calls */
};

/* A local function with the default values of its attributes. */
typedef struct OnnxLocalFunction {
    const Onnx__FunctionProto *proto;
    Onnx__AttributeProto **defaults;
    uint32_t default_count;
    /* The nodes with all calls expanded, at most ONNX_EXPANDED_NODES_MAX + 1; counted at the first
     * call. */
    uint32_t node_count;
    bool counted;
} OnnxLocalFunction;

typedef struct OnnxImport {
    IrModule *module;
    Device *device; /* a device whose addresses are pointers, for constants */
    const OnnxFolder *folder;
    NameMap *functions; /* OnnxLocalFunction, by domain, name and overload */
    /* Maps the address of a TensorProto in a function's body to its constant, so that the data is
     * held once however often the function is expanded. */
    NameMap *constants;
    uint32_t node_count;  /* nodes converted so far, with expansion */
    uint64_t sparse_left; /* bytes that sparse tensors may still take */
    OnnxNames dimension_names;
    bool shared;   /* several inputs share names of dimensions */
    bool nan_keys; /* the ai.onnx.ml of the model, 4 or later, finds NaN among keys */
    /* Of the function that is being made: inputs with an initializer, by name, that a caller may
     * give a value; NULL: none. */
    const NameMap *given;
} OnnxImport;

/* The names of one graph or function body. */
typedef struct OnnxScope {
    const struct OnnxScope
        *outer;     /* the scope for names not found here; NULL in main and function bodies */
    NameMap *names; /* to IrVariable */
    IrBlock *block; /* new bindings go to its end */
    /* In a function's body: the function and the call, for attributes that refer to the caller's.
     */
    const OnnxLocalFunction *function;
    const Onnx__NodeProto *caller;
    const struct OnnxScope *caller_scope;
    int64_t opset; /* the version of the default domain */
    uint32_t depth;
} OnnxScope;

typedef struct OnnxNode {
    OnnxImport *import;
    OnnxScope *scope;
    const Onnx__NodeProto *proto;
    uint32_t input_count; /* without absent inputs at the end */
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
/* Finds a name's value. Errors: INVALID there is no value of that name. */
MUST_CHECK Error *onnx_scope_find(const OnnxScope *scope, const char *name, IrVariable **out);
/* Finds a name's value; NULL for an input that the function's call leaves out. */
MUST_CHECK Error *onnx_scope_find_optional(
    const OnnxScope *scope, const char *name, IrVariable **out);
MUST_CHECK Error *onnx_scope_set_absent(OnnxScope *scope, const char *name);
/* Gives output index its variable; outputs that the node does not name are dropped. */
MUST_CHECK Error *onnx_node_set_output(const OnnxNode *node, uint32_t index, IrVariable *variable);

/* onnx_attribute.c: attributes of a node. References to a caller's attributes are followed. */
const Onnx__AttributeProto *onnx_attribute_find(const OnnxNode *node, const char *name);
MUST_CHECK Error *onnx_attribute_int(
    const OnnxNode *node, const char *name, int64_t otherwise, int64_t *out);
/* Whether the bytes of a text attribute are this word. */
bool onnx_text_is(const ProtobufCBinaryData *text, const char *word);
/* Reads a list of integers; NULL when absent. Errors: INVALID not a list of integers. */
MUST_CHECK Error *onnx_attribute_ints(
    const OnnxNode *node, const char *name, const Onnx__AttributeProto **out);
MUST_CHECK Error *onnx_attribute_graph(
    const OnnxNode *node, const char *name, const Onnx__GraphProto **out);
/* Checks that the node has only these attributes (NULL-terminated). Errors: UNSUPPORTED another
 * one. */
MUST_CHECK Error *onnx_attribute_check(const OnnxNode *node, const char *const *known);
/* Converts all attributes that the operator declares, except `skipped` (NULL-terminated, or NULL).
 * Errors: UNSUPPORTED an attribute that the operator does not declare. */
MUST_CHECK Error *onnx_attribute_convert(
    const OnnxNode *node, const char *operator_name, const char *const *skipped, Attributes **out);
/* The same for a declaration string (attributes.h). */
MUST_CHECK Error *onnx_attribute_convert_declared(
    const OnnxNode *node, const char *declaration, const char *const *skipped, Attributes **out);
/* The letter of an attribute's kind in a declaration string, or 0 if it does not have the name. */
char onnx_attribute_kind(const char *declaration, const char *name);

/* onnx_constant.c */
MUST_CHECK Error *onnx_constant_ints(
    const OnnxNode *node, const int64_t *values, size_t count, IrVariable **out);
/* Makes a Reshape to constant dimensions. */
MUST_CHECK Error *onnx_reshape(
    const OnnxNode *node, IrVariable *tensor, uint32_t rank, const int64_t *dims, IrVariable **out);
MUST_CHECK Error *onnx_constant_floats(
    const OnnxNode *node, const float *values, size_t count, IrVariable **out);
/* rank 0 (one string) or 1 */
MUST_CHECK Error *onnx_constant_strings(const OnnxNode *node, uint32_t rank, size_t count,
    const ProtobufCBinaryData *strings, IrVariable **out);
MUST_CHECK Error *onnx_constant_int0(
    const OnnxNode *node, int64_t value, IrVariable **out); /* rank 0 */
MUST_CHECK Error *onnx_constant_float0(
    const OnnxNode *node, double value, DType dtype, IrVariable **out);
/* Makes a tensor's constant; returns the same constant for the same proto. */
MUST_CHECK Error *onnx_constant_tensor(
    OnnxImport *import, const Onnx__TensorProto *proto, IrVariable **out);
MUST_CHECK Error *onnx_constant_sparse(
    OnnxImport *import, const Onnx__SparseTensorProto *proto, IrVariable **out);

/* onnx_legacy.c: the element type of a float tensor that earlier nodes compute. Types are inferred
 * after the import, so the function follows operands back to a known type: the first operand of
 * nearly every operator has its result's type, if both are floats. float32 when no type is known.
 */
DType onnx_float_type(const IrVariable *variable);

/* onnx_dimensions.c: the name of a dimension; NULL: none, or one without meaning ("", "?"). */
const char *onnx_dimension_name(const Onnx__TensorShapeProto__Dimension *dimension);
/* Removes names from dimensions of the graph's inputs where the name cannot hold for all of them,
 * with a warning. */
MUST_CHECK Error *onnx_dimensions_check(IrModule *module, const Onnx__GraphProto *graph);
/* Handles names that several inputs share. With ONNX_NAMES_APART they are removed from all inputs
 * but the first, with a warning. */
MUST_CHECK Error *onnx_dimensions_share(
    IrModule *module, const Onnx__GraphProto *graph, OnnxNames names, bool *out_shared);

/* onnx_order.c: sorts nodes so that each stands behind the makers of its inputs and of the outer
 * values in its graphs. Returns *inout_nodes unchanged if sorted, else an array in the arena.
 * scope: the values before the first node. Errors: INVALID a cycle, with its nodes. */
MUST_CHECK Error *onnx_order_nodes(
    OnnxImport *import, const OnnxScope *scope, size_t count, Onnx__NodeProto *const **inout_nodes);

/* onnx_graph.c */
MUST_CHECK Error *onnx_graph_nodes(
    OnnxImport *import, OnnxScope *scope, Onnx__NodeProto *const *nodes, size_t count);
/* Converts initializers and nodes; returns the variables of the outputs (n_output, from the arena).
 */
MUST_CHECK Error *onnx_graph_body(
    OnnxImport *import, OnnxScope *scope, const Onnx__GraphProto *graph, IrVariable ***out_results);
/* Converts a port's type: a tensor, a sequence of them, or an optional of either. Errors:
 * UNSUPPORTED any other type. */
MUST_CHECK Error *onnx_graph_type(IrModule *module, const Onnx__ValueInfoProto *info, IrType *out);

static inline bool onnx_is_default_domain(const char *domain) {
    return !domain || !domain[0] || strcmp(domain, "ai.onnx") == 0;
}
/* onnx_import.c: reads the version of the default domain, 0 when it is missing. Errors: UNSUPPORTED
 * a version that this build cannot read. */
MUST_CHECK Error *onnx_import_opset(
    Onnx__OperatorSetIdProto *const *imports, size_t count, int64_t *out);

/* onnx_function.c: all local functions of a model. */
typedef struct OnnxLocalFunctions {
    OnnxLocalFunction *items;
    size_t count;
} OnnxLocalFunctions;
/* Reads the local functions. Errors: INVALID two of one name; CORRUPT a default value that is no
 * attribute. */
MUST_CHECK Error *onnx_functions_read(
    const Onnx__ModelProto *model, NameMap *by_key, OnnxLocalFunctions *out);
void onnx_functions_deinit(OnnxLocalFunctions *functions);
/* Finds the function that a node calls; NULL: none. Errors: INVALID an overload that no function
 * has. */
MUST_CHECK Error *onnx_function_find(
    NameMap *by_key, const Onnx__NodeProto *node, OnnxLocalFunction **out);
/* Puts the function's nodes in the place of the call. */
MUST_CHECK Error *onnx_function_expand(const OnnxNode *node, OnnxLocalFunction *function);

/* onnx_node.c */
/* The name of a node in messages: its name, else its first output. */
const char *onnx_node_label(const Onnx__NodeProto *proto);
/* Checks room for more nodes. Errors: UNSUPPORTED the limit would be exceeded. */
MUST_CHECK Error *onnx_check_room(const OnnxImport *import, uint32_t nodes);
/* Converts one node, adding "node x (Op)" to errors. */
MUST_CHECK Error *onnx_node_convert(
    OnnxImport *import, OnnxScope *scope, const Onnx__NodeProto *proto);
/* Emits the operator of that name with these inputs and the node's attributes, except the skipped
 * ones. */
MUST_CHECK Error *onnx_node_emit(const OnnxNode *node, const char *operator_name,
    const char *const *skipped, uint32_t input_count, IrVariable *const *inputs);

/* onnx_legacy_shapes.c: adds the lengths of a Split of opset 1, which are also in the input's type.
 * NULL stays. */
MUST_CHECK Error *onnx_legacy_split_lengths(const OnnxNode *node, IrVariable **inout_lengths);

/* Handlers, named in onnx_nodes.def. */
#define ONNX_NODE(op_type, handler) Error *handler(const OnnxNode *node);
#include "compiler/frontend/base/onnx_nodes.def"
#undef ONNX_NODE
