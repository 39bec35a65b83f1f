#include "scheduler/control/parts/control_outputs.h"

#include "base/allocator.h"

bool control_outputs_are_many(size_t count, uint64_t bytes) {
    return count > CONTROL_OUTPUTS_MAX || bytes > CONTROL_OUTPUT_BYTES_MAX;
}

Error *control_outputs_add(
    ControlOutputs *outputs, int64_t sequence, ArrayList *inout_arrays, int64_t items_done) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlOutput), &memory));
    ControlOutput *output = memory;
    *output = (ControlOutput){sequence, items_done, *inout_arrays, NULL};
    *inout_arrays = (ArrayList){0};
    ControlOutputs one = {output, output, 1, 0};
    for (size_t i = 0; i < output->arrays.count; i++) one.bytes += output->arrays.items[i].size;
    control_outputs_append(outputs, &one);
    return NULL;
}

void control_outputs_append(ControlOutputs *to, ControlOutputs *from) {
    if (!from->first) return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    to->count += from->count;
    to->bytes += from->bytes;
    *from = (ControlOutputs){0};
}

void control_outputs_keep_last(ControlOutputs *outputs) {
    while (outputs->first != outputs->last) {
        ControlOutput *output = outputs->first;
        outputs->first = output->next;
        outputs->count--;
        for (size_t i = 0; i < output->arrays.count; i++)
            outputs->bytes -= output->arrays.items[i].size;
        array_list_deinit(&output->arrays);
        memory_free(output);
    }
}

void control_outputs_deinit(ControlOutputs *outputs) {
    for (ControlOutput *output = outputs->first, *next; output; output = next) {
        next = output->next;
        array_list_deinit(&output->arrays);
        memory_free(output);
    }
    *outputs = (ControlOutputs){0};
}
