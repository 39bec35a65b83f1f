/* Where an execution of layover.h stands: frames and live registers. */
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/tensor/tensor.h"
#include "serialize/checkpoint/checkpoint.h"
#include "tools/library/library_internal.h"
#include "vm/assembly/assembly.h"
#include "vm/execution/snapshot.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"
#include "vm/objects/object.h"
#include "vm/objects/shape_object.h"

typedef struct Inspection {
    LayoverInspection shown; /* first: the caller has its address */
    LayoverFrame *frames;
    LayoverRegister *registers;
} Inspection;

static void inspection_free(Inspection *inspection) {
    for (uint32_t i = 0; i < inspection->shown.frame_count; i++) {
        memory_free((void *)(uintptr_t)inspection->frames[i].function);
        memory_free((void *)(uintptr_t)inspection->frames[i].instruction);
    }
    for (uint32_t i = 0; i < inspection->shown.register_count; i++)
        memory_free((void *)(uintptr_t)inspection->registers[i].dims);
    memory_free(inspection->frames);
    memory_free(inspection->registers);
    memory_free(inspection);
}

void layover_inspection_free(LayoverInspection *inspection) {
    if (inspection) inspection_free((Inspection *)inspection);
}

static Error *print_instruction(
    const Snapshot *snapshot, uint32_t index, bool innermost, char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    const Frame *frame = &snapshot->frames[index];
    if (!innermost) return memory_copy_text("", out);
    assembly_print_instruction(snapshot->executable, frame->function, frame->pc, &text);
    return text_builder_take(&text, out);
}

static Error *add_frames(const Snapshot *snapshot, Inspection *inspection) {
    void *memory;
    const uint32_t count = snapshot->frame_count;
    TRY(memory_alloc(count, sizeof(LayoverFrame), &memory));
    inspection->frames = memory;
    for (uint32_t i = 0; i < count; i++) {
        char *name, *instruction;
        const Function *function = &snapshot->executable->functions[snapshot->frames[i].function];
        TRY(print_instruction(snapshot, i, count - i <= CHECKPOINT_LABELS_MAX, &instruction));
        inspection->frames[i] =
            (LayoverFrame){.pc = snapshot->frames[i].pc, .instruction = instruction};
        inspection->shown.frame_count++;
        TRY(memory_copy_text(function->name, &name));
        inspection->frames[i].function = name;
    }
    return NULL;
}

static uint64_t count_bytes(const Value *value) {
    if (value_is(value, OBJECT_TENSOR)) return tensor_bytes(value->tensor);
    return value_is(value, OBJECT_STORAGE) ? value->storage->size : 0;
}

static uint64_t count_items(const Value *items, uint32_t count) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!checked_add_u64(bytes, count_bytes(&items[i]), &bytes)) return UINT64_MAX;
    return bytes;
}

static Error *copy_dims(const int64_t *dims, uint32_t count, LayoverRegister *out) {
    void *copy;
    TRY(memory_alloc(count, sizeof *dims, &copy));
    if (count > 0) memcpy(copy, dims, count * sizeof *dims);
    out->rank = (int32_t)count;
    out->dims = copy;
    return NULL;
}

static Error *describe(const Value *value, LayoverRegister *out) {
    out->kind = value_kind_name(value);
    out->dtype = "";
    out->rank = -1;
    if (value_is(value, OBJECT_ADT))
        out->bytes = count_items(value->adt->fields, value->adt->count);
    else if (value_is(value, OBJECT_LIST))
        out->bytes = count_items(value->list->items, value->list->count);
    else
        out->bytes = count_bytes(value);
    if (value_is(value, OBJECT_SHAPE))
        return copy_dims(value->shape->dims, value->shape->count, out);
    if (!value_is(value, OBJECT_TENSOR)) return NULL;
    out->dtype = dtype_name(value->tensor->dtype);
    return copy_dims(value->tensor->shape.dims, value->tensor->shape.rank, out);
}

static Error *add_registers(const Snapshot *snapshot, Inspection *inspection) {
    void *memory;
    const uint32_t count = snapshot->register_count;
    TRY(memory_alloc(count, sizeof(LayoverRegister), &memory));
    inspection->registers = memory;
    for (uint32_t i = 0; i < count; i++) {
        const SnapshotRegister *live = &snapshot->registers[i];
        LayoverRegister *shown = &inspection->registers[i];
        *shown = (LayoverRegister){.frame = live->frame, .index = live->index};
        TRY(describe(&live->value, shown));
        inspection->shown.register_count++;
    }
    return NULL;
}

static Error *inspect(LayoverExecution *execution, LayoverInspection **out) {
    OWN(Snapshot, snapshot) = NULL;
    void *memory;
    TRY(library_process_check(execution->model));
    TRY(snapshot_take(execution->execution, &snapshot));
    TRY(memory_alloc(1, sizeof(Inspection), &memory));
    Inspection *inspection = memory;
    Error *error = add_frames(snapshot, inspection);
    if (!error) error = add_registers(snapshot, inspection);
    if (error) {
        inspection_free(inspection);
        return error;
    }
    inspection->shown.frames = inspection->frames;
    inspection->shown.registers = inspection->registers;
    inspection->shown.instructions = snapshot->counters.instructions;
    inspection->shown.kernel_calls = snapshot->counters.kernel_calls;
    inspection->shown.yields = snapshot->counters.yields;
    *out = &inspection->shown;
    return NULL;
}

LayoverError *layover_execution_inspect(
    LayoverExecution *execution, LayoverInspection **out_inspection) {
    return library_error(inspect(execution, out_inspection));
}
