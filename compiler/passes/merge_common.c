/* Common subexpressions: equal constants and equal pure bindings are made once. */
#include "base/allocator.h"
#include "base/digest.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/pass.h"

/* An open hash table of pointers; hashes only find. */
typedef struct Table {
    void **items;
    size_t size; /* a power of two, more than twice the items */
} Table;

static Error *table_init(Table *table, size_t count) {
    table->size = 16;
    while (table->size < 2 * count + 2) table->size *= 2;
    void *items;
    TRY(memory_alloc(table->size, sizeof(void *), &items));
    table->items = items;
    return NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t constant_hash(const Value *value) {
    if (!value_is(value, OBJECT_TENSOR)) return mix(value->tag, (uint64_t)value->integer);
    size_t bytes = (size_t)tensor_bytes(value->tensor);
    return mix(value->tensor->dtype, digest_xxh3(tensor_data(value->tensor), bytes));
}

static Error *merge_constants(IrModule *module) {
    Table table;
    TRY(table_init(&table, module->constant_count));
    for (size_t i = 0; i < module->constant_count; i++) {
        IrVariable *constant = module->constants[i];
        if (value_is(constant->constant, OBJECT_STRING)) continue;
        size_t at = constant_hash(constant->constant) & (table.size - 1);
        IrVariable *found;
        while ((found = table.items[at]) && !ir_constant_equal(found->constant, constant->constant))
            at = (at + 1) & (table.size - 1);
        if (found)
            constant->replacement = found;
        else
            table.items[at] = constant;
    }
    memory_free(table.items);
    ir_replace_all(module);
    return NULL;
}

static bool may_merge(const IrBinding *binding) {
    switch (binding->kind) {
    case IR_OPERATOR:
        return binding->operator_info->purity == PURITY_PURE;
    case IR_GET_FIELD:
    case IR_GET_TAG:
    case IR_INT_OP:
    case IR_READ_SCALAR:
    case IR_MAKE_TENSOR:
    case IR_SHAPE_OF:
    case IR_DEVICE_COPY:
    case IR_OPTIONAL:
        return true;
    case IR_CALL_PACKED:
        /* the program may write in place to a list that has a single holder */
        return ir_packed_info((IrPackedCall)binding->integer)->result != IR_PACKED_RESULT_LIST;
    case IR_CALL:
    case IR_CALL_CLOSURE:
    case IR_CLOSURE:
    case IR_IF:
    case IR_MATCH:
    case IR_CONSTRUCT:
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
    case IR_LIST_CONCAT:
    case IR_YIELD:
    case IR_FATAL:
    case IR_KIND_COUNT:
        break;
    }
    return false;
}

static uint64_t binding_hash(const IrBinding *binding) {
    uint64_t hash = mix((uint64_t)binding->kind, (uint64_t)binding->integer);
    hash = mix(hash, (uint64_t)binding->dtype);
    if (binding->operator_info) {
        hash = mix(hash, (uint64_t)binding->operator_info->id);
        hash = mix(hash, attributes_hash(binding->attributes));
    }
    for (uint32_t i = 0; i < binding->operand_count; i++)
        hash = mix(hash, binding->operands[i] ? binding->operands[i]->id : UINT32_MAX);
    return hash;
}

static bool binding_equal(const IrBinding *a, const IrBinding *b) {
    if (a->kind != b->kind || a->integer != b->integer || a->dtype != b->dtype ||
        a->operator_info != b->operator_info || a->operand_count != b->operand_count ||
        a->result_count != b->result_count)
        return false;
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (a->operands[i] != b->operands[i]) return false;
    return !a->operator_info || attributes_equal(a->attributes, b->attributes);
}

static bool is_around(const IrBlock *outer, const IrBlock *block) {
    while (block && block != outer) block = block->parent ? block->parent->block : NULL;
    return block != NULL;
}

static void merge_function(IrFunction *function, Table *table) {
    IrBinding *binding = ir_walk_first(function->body);
    while (binding) {
        IrBinding *next = ir_walk_next(binding);
        for (uint32_t i = 0; i < binding->operand_count; i++)
            binding->operands[i] = ir_resolve(binding->operands[i]);
        if (may_merge(binding)) {
            size_t at = binding_hash(binding) & (table->size - 1);
            IrBinding *found;
            while ((found = table->items[at]) && !binding_equal(found, binding))
                at = (at + 1) & (table->size - 1);
            if (found && is_around(found->block, binding->block)) {
                for (uint32_t i = 0; i < binding->result_count; i++)
                    binding->results[i]->replacement = found->results[i];
                ir_remove(binding);
            } else {
                /* an entry in another branch is useless from here on: the walk never goes back */
                table->items[at] = binding;
            }
        }
        binding = next;
    }
}

static Error *merge_bindings(IrModule *module) {
    for (size_t f = 0; f < module->function_count; f++) {
        IrFunction *function = module->functions[f];
        size_t count = 0;
        IrBinding *binding = ir_walk_first(function->body);
        for (; binding; binding = ir_walk_next(binding)) count++;
        Table table;
        TRY(table_init(&table, count));
        merge_function(function, &table);
        memory_free(table.items);
    }
    ir_replace_all(module);
    return NULL;
}

Error *merge_common_pass(PassContext *context) {
    TRY(merge_constants(context->module));
    return merge_bindings(context->module);
}
