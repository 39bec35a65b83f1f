/* ScatterElements and ScatterND: a copy of the data into which the updates are written one after
 * the other, in the order of the indices, so that the result of equal indices is defined. */
#include <string.h>

#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/arguments/arguments.h"

/* NULL for "none". */
typedef struct Update {
    CpuLoop *combine;
    uint32_t size;  /* of an element */
    int64_t length; /* elements of one update */
} Update;

static bool find_update(Device *device, const PlanRequest *request, Update *out) {
    static const struct {
        const char *name;
        CpuLoopId loop;
    } reductions[] = {
        {"add", CPU_LOOP_ADD}, {"mul", CPU_LOOP_MUL}, {"max", CPU_LOOP_MAX}, {"min", CPU_LOOP_MIN}};
    const char *reduction = attributes_text(request->attributes, "reduction");
    DType dtype = request->inputs[0].dtype;
    Update update = {NULL, dtype_bits(dtype) / 8, 1};
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
        if (strcmp(reduction, reductions[i].name) != 0) continue;
        update.combine = cpu_loop_find(cpu_device(device)->level, reductions[i].loop, dtype);
        if (!update.combine) return false;
    }
    *out = update;
    return true;
}

static void apply(const Update *update, void *to, const void *from) {
    if (!update->combine) {
        cpu_move(to, from, (size_t)update->length * update->size);
        return;
    }
    CpuOperand operands[2] = {{to, 1}, {from, 1}};
    if (update->length) update->combine(to, operands, update->length, NULL);
}

static Error *copy_data(const Plan *plan, const Launch *launch, uint64_t bytes) {
    return cpu_copy_bytes(cpu_device(plan->device), launch->threads, cpu_output(launch, 0),
        cpu_input(launch, 0), bytes);
}

typedef struct ElementsState {
    Update update;
    Shape indices;
    int64_t strides[SHAPE_RANK_MAX]; /* of the data; 0 along the axis */
    int64_t dim, axis_stride;
    uint64_t data_bytes;
    bool wide;
} ElementsState;

static Error *launch_elements(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const ElementsState *state = plan_state(plan);
    const CpuIndices indices = {cpu_input(launch, 1), state->wide};
    const char *updates = cpu_input(launch, 2);
    char *out = cpu_output(launch, 0);
    (void)output_shapes;
    TRY(copy_data(plan, launch, state->data_bytes));
    int64_t coordinates[SHAPE_RANK_MAX] = {0}, base = 0;
    int64_t count = shape_count_unchecked(&state->indices);
    KernelStopMeter meter = {0};
    for (int64_t position = 0; position < count; position++) {
        TRY(kernel_stop_count(&meter, 8));
        int64_t given = cpu_index_load(&indices, position), index;
        if (!cpu_index_wrap(given, state->dim, &index))
            return cpu_index_error("ScatterElements", given, position, state->dim);
        apply(&state->update, out + (base + index * state->axis_stride) * state->update.size,
            updates + position * state->update.size);
        for (uint32_t d = state->indices.rank; d-- > 0;) {
            base += state->strides[d];
            if (++coordinates[d] < state->indices.dims[d]) break;
            base -= state->strides[d] * state->indices.dims[d];
            coordinates[d] = 0;
        }
    }
    return NULL;
}

static Error *plan_elements(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    Update update;
    TRY(arguments_axis(request, &axis));
    if (!find_update(device, request, &update)) return cpu_decline(out);
    const Shape *data = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.scatter_elements", sizeof(ElementsState), out));
    ElementsState *state = plan_state(*out);
    state->update = update;
    state->indices = request->inputs[1].shape;
    shape_strides(data, state->strides);
    state->axis_stride = state->strides[axis];
    state->strides[axis] = 0;
    state->dim = data->dims[axis];
    state->data_bytes = (uint64_t)shape_count_unchecked(data) * update.size;
    state->wide = request->inputs[1].dtype == DTYPE_INT64;
    (*out)->launch = launch_elements;
    return NULL;
}

typedef struct TupleState {
    Update update;
    uint32_t depth;
    int64_t dims[SHAPE_RANK_MAX];
    uint64_t strides[SHAPE_RANK_MAX]; /* in bytes */
    uint64_t tuples, data_bytes;
} TupleState;

static Error *launch_tuples(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const TupleState *state = plan_state(plan);
    const CpuIndices indices = {cpu_input(launch, 1), true};
    uint64_t slice_bytes = (uint64_t)state->update.length * state->update.size;
    (void)output_shapes;
    TRY(copy_data(plan, launch, state->data_bytes));
    if (slice_bytes == 0) return NULL;
    KernelStopMeter meter = {0};
    for (uint64_t tuple = 0; tuple < state->tuples; tuple++) {
        TRY(kernel_stop_count(&meter, 8 + slice_bytes / 8));
        /* added to the output last: an empty output has no address, and no index fits it */
        uint64_t offset = 0;
        for (uint32_t d = 0; d < state->depth; d++) {
            int64_t position = (int64_t)(tuple * state->depth) + d, index;
            int64_t given = cpu_index_load(&indices, position);
            if (!cpu_index_wrap(given, state->dims[d], &index))
                return cpu_index_error("ScatterND", given, position, state->dims[d]);
            offset += (uint64_t)index * state->strides[d];
        }
        Update part = state->update;
        for (int64_t done = 0; done < state->update.length; done += part.length) {
            part.length = kernel_stop_piece(done, state->update.length) - done;
            if (done > 0) TRY(kernel_stop_check());
            apply(&part, (char *)cpu_output(launch, 0) + offset + (uint64_t)done * part.size,
                (const char *)cpu_input(launch, 2) + tuple * slice_bytes +
                    (uint64_t)done * part.size);
        }
    }
    return NULL;
}

static Error *plan_tuples(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    Update update;
    if (!find_update(device, request, &update)) return cpu_decline(out);
    TRY(plan_create(device, request, "cpu.scatter_nd", sizeof(TupleState), out));
    TupleState *state = plan_state(*out);
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(data, strides);
    state->update = update;
    state->depth = (uint32_t)indices->dims[indices->rank - 1];
    for (uint32_t d = 0; d < state->depth; d++) {
        state->dims[d] = data->dims[d];
        state->strides[d] = (uint64_t)strides[d] * update.size;
    }
    state->update.length = shape_product(data, state->depth, data->rank);
    state->tuples = (uint64_t)shape_product(indices, 0, indices->rank - 1);
    state->data_bytes = (uint64_t)shape_count_unchecked(data) * update.size;
    (*out)->launch = launch_tuples;
    return NULL;
}

const Kernel cpu_scatter[] = {
    {OPERATOR_SCATTER_ELEMENTS, DTYPES_ANY, plan_elements, "cpu.scatter_elements", KERNEL_PORTABLE},
    {OPERATOR_SCATTER_ND, DTYPES_ANY, plan_tuples, "cpu.scatter_nd", KERNEL_PORTABLE},
    KERNELS_END,
};
