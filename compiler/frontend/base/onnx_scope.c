#include "compiler/frontend/base/onnx_internal.h"

Error *onnx_scope_init(OnnxScope *scope, const OnnxScope *outer, IrBlock *block) {
    OnnxScope made = {.outer = outer, .block = block};
    if (outer) {
        made.function = outer->function;
        made.caller = outer->caller;
        made.caller_scope = outer->caller_scope;
        made.opset = outer->opset;
        made.depth = outer->depth + 1;
    }
    if (made.depth > ONNX_CALL_DEPTH_MAX)
        FAIL(UNSUPPORTED, "graphs nested deeper than %d", ONNX_CALL_DEPTH_MAX);
    TRY(name_map_create(&made.names));
    *scope = made;
    return NULL;
}

void onnx_scope_deinit(OnnxScope *scope) {
    name_map_release(scope->names);
    scope->names = NULL;
}

Error *onnx_scope_set(OnnxScope *scope, const char *name, IrVariable *variable) {
    if (name[0] == '\0') return NULL; /* no name: nothing reads the value */
    if (name_map_find(scope->names, name)) FAIL(INVALID, "the value %s is made twice", name);
    if (!variable->name) TRY(ir_module_text(scope->block->function->module, name, &variable->name));
    return name_map_set(scope->names, name, variable);
}

static IrVariable absent; /* marks an input that a call of a function leaves out */

Error *onnx_scope_set_absent(OnnxScope *scope, const char *name) {
    return name_map_set(scope->names, name, &absent);
}

bool onnx_scope_has(const OnnxScope *scope, const char *name) {
    for (; scope; scope = scope->outer)
        if (name_map_find(scope->names, name)) return true;
    return false;
}

Error *onnx_scope_find_optional(const OnnxScope *scope, const char *name, IrVariable **out) {
    for (const OnnxScope *at = scope; at; at = at->outer) {
        IrVariable *variable = name_map_find(at->names, name);
        if (!variable) continue;
        *out = variable == &absent ? NULL : variable;
        return NULL;
    }
    FAIL(INVALID, "there is no value %s", name);
}

Error *onnx_scope_find(const OnnxScope *scope, const char *name, IrVariable **out) {
    TRY(onnx_scope_find_optional(scope, name, out));
    if (!*out) FAIL(INVALID, "the function's input %s is left out", name);
    return NULL;
}

Error *onnx_node_set_output(const OnnxNode *node, uint32_t index, IrVariable *variable) {
    if (index >= node->proto->n_output || !node->proto->output[index][0]) return NULL;
    return onnx_scope_set(node->scope, node->proto->output[index], variable);
}
