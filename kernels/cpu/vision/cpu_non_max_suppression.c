/* NonMaxSuppression: for each image and class takes the boxes by falling score, and keeps each
 * unless it overlaps a kept one. The result is computed once to count it and once more to write
 * it. */
#include "base/checked.h"
#include "kernels/cpu/core/cpu_vector.h"

enum { PAIRS_PER_PART = 16384, BLOCK = 4 * CPU_HALF_LANES /* kept boxes compared at a time */ };

/* One number of the kept boxes each: a box has the same index in all five. Whole blocks: beyond the
 * last box are boxes without an area, which overlap nothing. */
typedef struct Kept {
    float *top, *left, *bottom, *right, *area;
} Kept;

typedef struct Corners {
    float top, left, bottom, right;
} Corners;

typedef void Compare(const Kept *kept, int64_t count, Corners corners, float limit, bool *out);

typedef struct State {
    int64_t batch, classes, boxes;
    int64_t room; /* for kept boxes: boxes in whole blocks */
    Compare *overlaps_any;
    bool center, has_threshold;
} State;

/* A box that may be kept. */
typedef struct Candidate {
    float score;
    int64_t box;
} Candidate;

/* The limits are loaded once: another process may rewrite shared memory at any moment. */
typedef struct Run {
    const State *state;
    const float *boxes, *scores;
    Candidate *candidates; /* `boxes` candidates for each image and class */
    float *kept;           /* five times `room` numbers for each thread */
    int64_t *counts;       /* number of kept boxes, for each image and class */
    int64_t limit;
    float overlap, threshold;
} Run;

/* Sorts by falling score, then by rising index. A NaN that passes the threshold is below every
 * number. */
static bool comes_before(Candidate a, Candidate b) {
    const bool a_none = a.score != a.score, b_none = b.score != b.score;
    if (a_none != b_none) return b_none;
    if (!a_none && a.score != b.score) return a.score > b.score;
    return a.box < b.box;
}

/* The heap's root is the last in the order. */
static void sift(Candidate *heap, int64_t count, int64_t at) {
    const Candidate entry = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && comes_before(heap[child], heap[child + 1])) child++;
        if (!comes_before(entry, heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void sort(Candidate *heap, int64_t count) {
    KernelStopMeter meter = {0};
    for (int64_t i = count / 2; i-- > 0;) {
        if (kernel_stop_ends_after(&meter, 64)) return;
        sift(heap, count, i);
    }
    for (int64_t left = count - 1; left > 0; left--) {
        if (kernel_stop_ends_after(&meter, 256)) return;
        const Candidate last = heap[0];
        heap[0] = heap[left];
        heap[left] = last;
        sift(heap, left, 0);
    }
}

static Corners corners_of(const State *state, const float *box) {
    if (state->center) {
        const float half_width = box[2] / 2, half_height = box[3] / 2;
        return (Corners){
            box[1] - half_height, box[0] - half_width, box[1] + half_height, box[0] + half_width};
    }
    /* any two opposite corners */
    const bool down = box[0] <= box[2], across = box[1] <= box[3];
    return (Corners){down ? box[0] : box[2], across ? box[1] : box[3], down ? box[2] : box[0],
        across ? box[3] : box[1]};
}

static float area(Corners c) { return (c.bottom - c.top) * (c.right - c.left); }

/* The part of the kept boxes from `at` on that they share with a box. */
typedef struct Shared {
    CpuF32x8 height, width;
} Shared;

CPU_INLINE Shared shared_with(const Kept *kept, int64_t at, Corners corners) {
    const CpuF32x8 none = {0};
    const CpuF32x8 top = cpu_f32x8_max(corners.top - none, cpu_f32x8_load(kept->top + at));
    const CpuF32x8 left = cpu_f32x8_max(corners.left - none, cpu_f32x8_load(kept->left + at));
    const CpuF32x8 bottom = cpu_f32x8_min(corners.bottom - none, cpu_f32x8_load(kept->bottom + at));
    const CpuF32x8 right = cpu_f32x8_min(corners.right - none, cpu_f32x8_load(kept->right + at));
    return (Shared){bottom - top, right - left};
}

/* All ones in the lanes whose box overlaps by more than the limit. */
CPU_INLINE CpuI32x8 overlaps(
    const Kept *kept, int64_t at, Corners corners, float own_area, float limit) {
    const CpuF32x8 none = {0}, own = own_area - none, other = cpu_f32x8_load(kept->area + at);
    const Shared part = shared_with(kept, at, corners);
    const CpuF32x8 shared = part.height * part.width, all = own + other - shared;
    return (part.height > none) & (part.width > none) & (shared > none) & (own > none) &
           (other > none) & (all > none) & (shared / all > limit - none);
}

CPU_INLINE bool is_any(CpuI32x8 mask) {
    const CpuI32x4 half = __builtin_shufflevector(mask, mask, 0, 1, 2, 3) |
                          __builtin_shufflevector(mask, mask, 4, 5, 6, 7);
    return (half[0] | half[1] | half[2] | half[3]) != 0;
}

/* Most boxes share nothing with a whole block: those cost no division. */
CPU_INLINE void overlaps_any_body(
    const Kept *kept, int64_t count, Corners corners, float limit, bool *out) {
    const float own_area = area(corners);
    *out = false;
    for (int64_t at = 0; at < count && !*out; at += BLOCK) {
        CpuI32x8 touches = {0}, found = {0};
        for (int64_t i = at; i < at + BLOCK; i += CPU_HALF_LANES) {
            const Shared part = shared_with(kept, i, corners);
            touches |= (part.height > (CpuF32x8){0}) & (part.width > (CpuF32x8){0});
        }
        if (!is_any(touches)) continue;
        for (int64_t i = at; i < at + BLOCK; i += CPU_HALF_LANES)
            found |= overlaps(kept, i, corners, own_area, limit);
        *out = is_any(found);
    }
}
CPU_VARIANTS(overlaps_any,
    (const Kept *kept, int64_t count, Corners corners, float limit, bool *out),
    (kept, count, corners, limit, out));

static Kept kept_of(const Run *run, uint32_t part) {
    const int64_t room = run->state->room;
    float *from = run->kept + part * room * 5;
    return (Kept){from, from + room, from + room * 2, from + room * 3, from + room * 4};
}

static void keep(const Kept *kept, int64_t at, Corners corners) {
    if (at % BLOCK == 0) /* a new block */
        memset(kept->area + at, 0, BLOCK * sizeof(float));
    kept->top[at] = corners.top;
    kept->left[at] = corners.left;
    kept->bottom[at] = corners.bottom;
    kept->right[at] = corners.right;
    kept->area[at] = area(corners);
}

/* Kept boxes move to the front of the unit's candidates. */
static int64_t select_boxes(const Run *run, int64_t unit, uint32_t part) {
    const State *state = run->state;
    const float *boxes = run->boxes + unit / state->classes * state->boxes * 4;
    const float *scores = run->scores + unit * state->boxes;
    Candidate *candidates = run->candidates + unit * state->boxes;
    const Kept all = kept_of(run, part);
    int64_t count = 0, kept = 0;
    KERNEL_STOP_EACH (i, 0, state->boxes) {
        const float score = ((const volatile float *)scores)[i];
        if (state->has_threshold && !(score > run->threshold)) continue;
        candidates[count++] = (Candidate){score, i};
    }
    sort(candidates, count);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < count && kept < run->limit; i++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)kept + 16)) return kept;
        const Candidate candidate = candidates[i];
        const Corners corners = corners_of(state, boxes + candidate.box * 4);
        bool covered;
        state->overlaps_any(&all, kept, corners, run->overlap, &covered);
        if (covered) continue;
        keep(&all, kept, corners);
        candidates[kept++] = candidate;
    }
    return kept;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    for (uint64_t unit = begin; unit < end; unit++)
        run->counts[unit] = select_boxes(run, (int64_t)unit, part);
    return NULL;
}

static float load_number(const Plan *plan, const Launch *launch, uint32_t index) {
    if (index >= plan->input_count || !launch->inputs[index]) return 0;
    return *(const volatile float *)cpu_input(launch, index);
}

/* Without a limit, or with a limit below 1, no box is kept. */
static Error *select_all(const Plan *plan, const Launch *launch, Run *out, int64_t *out_total) {
    const State *state = plan_state(plan);
    const int64_t units = state->batch * state->classes;
    Run run = {
        .state = state,
        .boxes = cpu_input(launch, 0),
        .scores = cpu_input(launch, 1),
        .counts = cpu_workspace(launch),
        .overlap = load_number(plan, launch, 3),
        .threshold = load_number(plan, launch, 4),
    };
    *out_total = 0;
    *out = run;
    if (units == 0 || state->boxes == 0) return NULL;
    run.candidates = (Candidate *)(void *)(run.counts + units);
    run.kept = (float *)(void *)(run.candidates + units * state->boxes);
    if (plan->input_count > 2 && launch->inputs[2])
        run.limit = *(const volatile int64_t *)cpu_input(launch, 2);
    TRY(cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)units,
        (uint64_t)(PAIRS_PER_PART / (state->boxes * 16)) + 1, run_units, &run));
    for (int64_t i = 0; i < units; i++) *out_total += run.counts[i];
    *out = run;
    return NULL;
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    Run run;
    return select_all(plan, launch, &run, &out_shapes[0].dims[0]);
}

static Error *launch_suppression(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    int64_t *to = cpu_output(launch, 0), total;
    Run run;
    TRY(select_all(plan, launch, &run, &total));
    if (total != output_shapes[0].dims[0])
        FAIL(FAILED, "NonMaxSuppression: the input changed while it was read");
    for (int64_t unit = 0; total > 0 && unit < state->batch * state->classes; unit++)
        for (int64_t i = 0; i < run.counts[unit]; i++, to += 3) {
            to[0] = unit / state->classes;
            to[1] = unit % state->classes;
            to[2] = run.candidates[unit * state->boxes + i].box;
        }
    return NULL;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *scores = &request->inputs[1].shape;
    const uint64_t count = (uint64_t)shape_count_unchecked(scores);
    const uint64_t units = count ? (uint64_t)(scores->dims[0] * scores->dims[1]) : 0;
    const uint64_t boxes = count ? (uint64_t)scores->dims[2] : 0;
    const uint64_t room = (boxes + BLOCK - 1) / BLOCK * BLOCK;
    const uint64_t parts = units < CPU_THREADS_MAX ? units : CPU_THREADS_MAX;
    uint64_t bytes, kept, all;
    if (!checked_mul_u64(count, sizeof(Candidate), &bytes) ||
        !checked_mul_u64(parts * 5 * sizeof(float), room, &kept) ||
        !checked_add_u64(bytes, units * sizeof(int64_t), &all) || !checked_add_u64(all, kept, &all))
        FAIL(EXHAUSTED, "the candidates of NonMaxSuppression");
    TRY(plan_create(device, request, "cpu.non_max_suppression", sizeof(State), out));
    State *state = plan_state(*out);
    if (count > 0)
        *state = (State){.batch = scores->dims[0],
            .classes = scores->dims[1],
            .boxes = scores->dims[2],
            .room = (int64_t)room};
    state->overlaps_any = overlaps_any_for(cpu_device(device)->level);
    state->center = attributes_int(request->attributes, "center_point_box") != 0;
    state->has_threshold = plan_request_has(request, 4);
    (*out)->workspace_bytes = all;
    (*out)->measure = measure;
    (*out)->launch = launch_suppression;
    return NULL;
}

const Kernel cpu_non_max_suppression[] = {
    {OPERATOR_NON_MAX_SUPPRESSION, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.non_max_suppression",
        KERNEL_PORTABLE},
    KERNELS_END,
};
