/* Gather, GatherElements, GatherND. */
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/arguments/arguments.h"

enum {
    BYTES_PER_PART = 65536,
    INDEX_BYTES = 16, /* the cost of finding one element, in bytes */
    CHECKED_MAX = 256 /* indices that are checked before they are used for many slices */
};

/* data [outer, dim, slice], indices [count]: out [outer, count, slice]. */
typedef struct GatherState {
    int64_t outer, dim, count;
    uint64_t slice_bytes;
    bool wide;
} GatherState;

typedef struct GatherRun {
    const void *state;
    CpuIndices indices;
    char *out;
    const char *data;
} GatherRun;

static GatherRun make_run(const Plan *plan, const Launch *launch, bool wide) {
    CpuIndices indices = {cpu_input(launch, 1), wide};
    return (GatherRun){plan_state(plan), indices, cpu_output(launch, 0), cpu_input(launch, 0)};
}

static Error *run_gather(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const GatherRun *run = context;
    const GatherState *state = run->state;
    (void)part;
    uint64_t outer = begin / (uint64_t)state->count;
    int64_t position = (int64_t)(begin % (uint64_t)state->count);
    size_t size = (size_t)state->slice_bytes;
    const char *data = run->data; /* NULL for empty data: then every index is outside */
    if (outer > 0) data += outer * (uint64_t)state->dim * size;
    char *out = run->out + begin * size;
    for (uint64_t unit = begin; unit < end; unit++, out += size) {
        int64_t given = cpu_index_load(&run->indices, position), index;
        if (!cpu_index_wrap(given, state->dim, &index))
            return cpu_index_error("Gather", given, position, state->dim);
        cpu_move(out, data + (size_t)index * size, size);
        if (++position < state->count) continue;
        position = 0;
        data += (uint64_t)state->dim * size;
    }
    return NULL;
}

/* Elements of 4 and 8 bytes at few places of each slice along an axis: columns of a table. */
#define DEFINE_PICK(T)                                                                             \
    static void pick_##T(T *out, const T *data, const int64_t *places, int64_t count, int64_t dim, \
        int64_t position, int64_t units) {                                                         \
        if (count == 1) {                                                                          \
            for (int64_t i = 0; i < units; i++) out[i] = data[i * dim + places[0]];                \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < units; i++) {                                                      \
            out[i] = data[places[position]];                                                       \
            const bool ends = ++position == count;                                                 \
            data += ends ? dim : 0;                                                                \
            position = ends ? 0 : position;                                                        \
        }                                                                                          \
    }
DEFINE_PICK(uint32_t)
DEFINE_PICK(uint64_t)
#undef DEFINE_PICK

static Error *run_pick(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const GatherRun *run = context;
    const GatherState *state = run->state;
    const uint64_t count = (uint64_t)state->count, size = state->slice_bytes;
    int64_t places[CHECKED_MAX];
    (void)part;
    for (int64_t i = 0; i < state->count; i++) {
        const int64_t given = cpu_index_load(&run->indices, i);
        if (!cpu_index_wrap(given, state->dim, &places[i]))
            return cpu_index_error("Gather", given, i, state->dim);
    }
    const char *data = run->data + begin / count * (uint64_t)state->dim * size;
    char *out = run->out + begin * size;
    const int64_t position = (int64_t)(begin % count), units = (int64_t)(end - begin);
    if (size == sizeof(uint32_t))
        pick_uint32_t((uint32_t *)(void *)out, (const uint32_t *)(const void *)data, places,
            state->count, state->dim, position, units);
    else
        pick_uint64_t((uint64_t *)(void *)out, (const uint64_t *)(const void *)data, places,
            state->count, state->dim, position, units);
    return NULL;
}

static Error *launch_gather(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const GatherState *state = plan_state(plan);
    (void)output_shapes;
    uint64_t units = (uint64_t)state->outer * (uint64_t)state->count;
    if (units == 0 || state->slice_bytes == 0) return NULL;
    GatherRun run = make_run(plan, launch, state->wide);
    uint64_t least = BYTES_PER_PART / (state->slice_bytes + INDEX_BYTES) + 1;
    const bool picks = (state->slice_bytes == 4 || state->slice_bytes == 8) && state->dim > 0 &&
                       state->outer > state->count && state->count <= CHECKED_MAX;
    CpuTask *task = picks ? run_pick : run_gather;
    if (units <= least) return task(&run, 0, units, 0);
    return cpu_for_each(cpu_device(plan->device), launch->threads, units, least, task, &run);
}

static Error *plan_gather(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const Shape *data = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.gather", sizeof(GatherState), out));
    GatherState *state = plan_state(*out);
    state->outer = shape_product(data, 0, axis);
    state->dim = data->dims[axis];
    state->count = shape_count_unchecked(&request->inputs[1].shape);
    state->slice_bytes = (uint64_t)shape_product(data, axis + 1, data->rank) *
                         (dtype_bits(request->inputs[0].dtype) / 8);
    state->wide = request->inputs[1].dtype == DTYPE_INT64;
    (*out)->launch = launch_gather;
    return NULL;
}

/* out[.., i, ..] = data[.., indices[.., i, ..], ..] along the axis. */
typedef struct ElementsState {
    Shape indices;
    int64_t strides[SHAPE_RANK_MAX]; /* of the data; 0 along the axis */
    int64_t dim, axis_stride;
    uint64_t rows; /* of the indices: all but the last dimension */
    uint32_t size;
    bool wide;
} ElementsState;

/* The place of an index row's elements in the data, without the axis. */
static int64_t elements_base(const ElementsState *state, uint64_t row) {
    int64_t base = 0;
    for (uint32_t d = state->indices.rank - 1; d-- > 0;) {
        base += (int64_t)(row % (uint64_t)state->indices.dims[d]) * state->strides[d];
        row /= (uint64_t)state->indices.dims[d];
    }
    return base;
}

static Error *run_elements(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const GatherRun *run = context;
    const ElementsState *state = run->state;
    (void)part;
    uint32_t last = state->indices.rank - 1;
    int64_t length = state->indices.dims[last], step = state->strides[last];
    for (uint64_t row = begin; row < end; row++) {
        int64_t base = elements_base(state, row);
        for (int64_t i = 0; i < length; i++) {
            int64_t position = (int64_t)row * length + i, index;
            if (kernel_stop_ends_at(i)) return NULL;
            int64_t given = cpu_index_load(&run->indices, position);
            if (!cpu_index_wrap(given, state->dim, &index))
                return cpu_index_error("GatherElements", given, position, state->dim);
            int64_t from = base + index * state->axis_stride + i * step;
            cpu_move(
                run->out + position * state->size, run->data + from * state->size, state->size);
        }
    }
    return NULL;
}

static Error *launch_elements(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const ElementsState *state = plan_state(plan);
    (void)output_shapes;
    int64_t length = state->indices.dims[state->indices.rank - 1];
    if (state->rows == 0 || length == 0) return NULL;
    GatherRun run = make_run(plan, launch, state->wide);
    uint64_t least = BYTES_PER_PART / ((uint64_t)length * INDEX_BYTES) + 1;
    return cpu_for_each(
        cpu_device(plan->device), launch->threads, state->rows, least, run_elements, &run);
}

static Error *plan_elements(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const Shape *data = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.gather_elements", sizeof(ElementsState), out));
    ElementsState *state = plan_state(*out);
    state->indices = request->inputs[1].shape;
    shape_strides(data, state->strides);
    state->axis_stride = state->strides[axis];
    state->strides[axis] = 0;
    state->dim = data->dims[axis];
    state->rows = (uint64_t)shape_product(&state->indices, 0, state->indices.rank - 1);
    state->size = dtype_bits(request->inputs[0].dtype) / 8;
    state->wide = request->inputs[1].dtype == DTYPE_INT64;
    (*out)->launch = launch_elements;
    return NULL;
}

/* Tuples of `depth` indices; each names a slice of the data of its batch. */
typedef struct TupleState {
    uint32_t depth;
    int64_t dims[SHAPE_RANK_MAX];
    uint64_t strides[SHAPE_RANK_MAX]; /* in bytes */
    uint64_t batches, tuples;         /* tuples: of one batch */
    uint64_t batch_bytes, slice_bytes;
} TupleState;

static Error *run_tuples(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const GatherRun *run = context;
    const TupleState *state = run->state;
    (void)part;
    for (uint64_t tuple = begin; tuple < end; tuple++) {
        /* added to `data` last: empty data has no address, and no index fits it */
        uint64_t offset = tuple / state->tuples * state->batch_bytes;
        for (uint32_t d = 0; d < state->depth; d++) {
            int64_t position = (int64_t)(tuple * state->depth) + d, index;
            int64_t given = cpu_index_load(&run->indices, position);
            if (!cpu_index_wrap(given, state->dims[d], &index))
                return cpu_index_error("GatherND", given, position, state->dims[d]);
            offset += (uint64_t)index * state->strides[d];
        }
        cpu_move(
            run->out + tuple * state->slice_bytes, run->data + offset, (size_t)state->slice_bytes);
    }
    return NULL;
}

static Error *launch_tuples(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const TupleState *state = plan_state(plan);
    (void)output_shapes;
    uint64_t units = state->batches * state->tuples;
    if (units == 0 || state->slice_bytes == 0) return NULL;
    GatherRun run = make_run(plan, launch, true);
    uint64_t least = BYTES_PER_PART / (state->slice_bytes + INDEX_BYTES) + 1;
    return cpu_for_each(cpu_device(plan->device), launch->threads, units, least, run_tuples, &run);
}

static Error *plan_tuples(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    uint32_t batch_dims = (uint32_t)attributes_int(request->attributes, "batch_dims");
    TRY(plan_create(device, request, "cpu.gather_nd", sizeof(TupleState), out));
    TupleState *state = plan_state(*out);
    uint64_t size = dtype_bits(request->inputs[0].dtype) / 8;
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(data, strides);
    state->depth = (uint32_t)indices->dims[indices->rank - 1];
    for (uint32_t d = 0; d < state->depth; d++) {
        state->dims[d] = data->dims[batch_dims + d];
        state->strides[d] = (uint64_t)strides[batch_dims + d] * size;
    }
    state->batches = (uint64_t)shape_product(data, 0, batch_dims);
    state->tuples = (uint64_t)shape_product(indices, batch_dims, indices->rank - 1);
    state->batch_bytes = (uint64_t)shape_product(data, batch_dims, data->rank) * size;
    state->slice_bytes =
        (uint64_t)shape_product(data, batch_dims + state->depth, data->rank) * size;
    (*out)->launch = launch_tuples;
    return NULL;
}

const Kernel cpu_gather[] = {
    {OPERATOR_GATHER, DTYPES_ANY, plan_gather, "cpu.gather", KERNEL_PORTABLE},
    {OPERATOR_GATHER_ELEMENTS, DTYPES_ANY, plan_elements, "cpu.gather_elements", KERNEL_PORTABLE},
    {OPERATOR_GATHER_ND, DTYPES_ANY, plan_tuples, "cpu.gather_nd", KERNEL_PORTABLE},
    KERNELS_END,
};
