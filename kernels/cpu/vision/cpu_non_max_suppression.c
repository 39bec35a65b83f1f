/* NonMaxSuppression: for each image and class takes the boxes by falling score, and keeps each
 * unless it overlaps a kept one. The result is computed once to count it and once more to write
 * it. */
#include "base/checked.h"
#include "kernels/cpu/core/cpu_internal.h"

enum { PAIRS_PER_PART = 16384 };

typedef struct State {
    int64_t batch, classes, boxes;
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

typedef struct Corners {
    float top, left, bottom, right;
} Corners;

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

static bool overlap(const Run *run, Corners a, Corners b) {
    const Corners both = {a.top > b.top ? a.top : b.top, a.left > b.left ? a.left : b.left,
        a.bottom < b.bottom ? a.bottom : b.bottom, a.right < b.right ? a.right : b.right};
    if (!(both.bottom > both.top) || !(both.right > both.left)) return false;
    const float shared = area(both), a_area = area(a), b_area = area(b);
    const float all = a_area + b_area - shared;
    if (!(shared > 0) || !(a_area > 0) || !(b_area > 0) || !(all > 0)) return false;
    return shared / all > run->overlap;
}

/* Kept boxes move to the front of the unit's candidates. */
static int64_t select_boxes(const Run *run, int64_t unit) {
    const State *state = run->state;
    const float *boxes = run->boxes + unit / state->classes * state->boxes * 4;
    const float *scores = run->scores + unit * state->boxes;
    Candidate *candidates = run->candidates + unit * state->boxes;
    int64_t count = 0, kept = 0;
    KERNEL_STOP_EACH (i, 0, state->boxes) {
        const float score = ((const volatile float *)scores)[i];
        if (state->has_threshold && !(score > run->threshold)) continue;
        candidates[count++] = (Candidate){score, i};
    }
    sort(candidates, count);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < count && kept < run->limit; i++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)kept * 8 + 16)) return kept;
        const Candidate candidate = candidates[i];
        const Corners corners = corners_of(state, boxes + candidate.box * 4);
        bool keeps = true;
        for (int64_t k = 0; k < kept && keeps; k++)
            keeps = !overlap(run, corners, corners_of(state, boxes + candidates[k].box * 4));
        if (keeps) candidates[kept++] = candidate;
    }
    return kept;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    for (uint64_t unit = begin; unit < end; unit++)
        run->counts[unit] = select_boxes(run, (int64_t)unit);
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
    uint64_t bytes, all;
    if (!checked_mul_u64(count, sizeof(Candidate), &bytes) ||
        !checked_add_u64(bytes, units * sizeof(int64_t), &all))
        FAIL(EXHAUSTED, "the candidates of NonMaxSuppression");
    TRY(plan_create(device, request, "cpu.non_max_suppression", sizeof(State), out));
    State *state = plan_state(*out);
    if (count > 0)
        *state = (State){scores->dims[0], scores->dims[1], scores->dims[2], false, false};
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
