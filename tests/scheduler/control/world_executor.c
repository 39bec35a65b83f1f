#include "base/allocator.h"
#include "base/container_of.h"
#include "tests/scheduler/control/control_world.h"

/* The executor of a world: runs that count items, on devices that are lost now and then. A run is
 * never looked into by the logic, so JobHold.run points to a WorldRun. */

enum { TASK_NS_MAX = 8000000, SLICE_NS_MAX = 60000000, NEVER_NS = 2000000000 };
static const uint64_t DEVICE_BYTES = (uint64_t)1 << 30, GROWTH_BYTES_MAX = (uint64_t)1 << 27;

static WorldRun *run_of(const JobHold *hold) { return (WorldRun *)(void *)hold->run; }

/* Never looked into; the logic sees whether there is one. */
static Residency *some_residency(ControlWorld *world) { return (Residency *)(void *)world; }

/* ---- tasks ---- */

static void make_run(ControlWorld *world, const ExecutorTask *task) {
    JobHold *hold = task->hold;
    void *memory;
    assert_null(hold->run);
    assert_ok(memory_alloc(1, sizeof(WorldRun), &memory));
    WorldRun *run = memory;
    WorldRow *row = world_find_row(world, task->tenant, task->id);
    assert_true(row || (task->fresh && hold->batch)); /* else there is nothing to begin with */
    *run = (WorldRun){.row = row, .total = (int64_t)task->policy->random_key};
    if (task->has_checkpoint) {
        assert_true(row->has_checkpoint);
        run->items_done = row->checkpoint_items;
        run->sequence = row->checkpoint_sequence;
    }
    batch_release(TAKE(hold->batch));
    hold->run = (JobRun *)(void *)run;
    hold->residency = some_residency(world);
}

static Error *do_task(ControlWorld *world, ExecutorTask *task) {
    WorldDevice *device = &world->devices[task->device];
    if (task->kind == EXECUTOR_OPEN_DEVICE) {
        if (!world->calm && world_chance(world, 3)) FAIL(DEVICE_LOST, "it is still gone");
        assert_true(device->closed);
        *device = (WorldDevice){.losses = device->losses};
        task->device_bytes = DEVICE_BYTES;
        return NULL;
    }
    assert_false(device->closed); /* nothing is done with a closed device */
    if (task->kind == EXECUTOR_CLOSE_DEVICE) {
        assert_null(device->slice);
        device->closed = true;
        return NULL;
    }
    if (device->lost) FAIL(DEVICE_LOST, "the device is lost");
    if (!world->calm && task->kind != EXECUTOR_OPEN && world_chance(world, 100))
        FAIL(EXHAUSTED, "there is no memory for it");
    if (!world->calm && world_chance(world, 500)) FAIL(FAILED, "it cannot be done");
    if (task->kind == EXECUTOR_OPEN || task->kind == EXECUTOR_ENTER_FROM_DISK)
        make_run(world, task);
    else if (task->kind == EXECUTOR_ENTER_FROM_HOST)
        task->hold->residency = some_residency(world);
    else if (task->kind == EXECUTOR_LEAVE_TO_HOST)
        task->hold->residency = NULL;
    return NULL;
}

static void finish_task(void *context, Message *message) {
    ExecutorTask *task = (ExecutorTask *)message;
    task->error = do_task(world_of(context), task);
    task->done(context, task);
}

static Error *post(void *self, ExecutorTask *task) {
    ControlWorld *world = self;
    task->message.handle = finish_task;
    world_post(world, &task->message, world_random(world, TASK_NS_MAX), NULL);
    return NULL;
}

static bool open_at_once(void *self, const ExecutorTask *task) {
    ControlWorld *world = self;
    if (!task->hold->batch || world->devices[task->device].closed || world_chance(world, 3))
        return false;
    make_run(world, task);
    return true;
}

/* ---- slices ---- */

static Error *add_outputs(ControlWorld *world, JobHold *hold) {
    WorldRun *run = run_of(hold);
    for (uint64_t count = world_random(world, 4); count > 0 && run->items_done < run->total;
         count--) {
        ArrayList none = {0};
        TRY(control_outputs_add(&hold->outputs, run->sequence++, &none, ++run->items_done));
    }
    return NULL;
}

static Error *do_slice(ControlWorld *world, JobHold *hold) {
    WorldRun *run = run_of(hold);
    if (world->devices[run->device].lost) FAIL(DEVICE_LOST, "the device is lost");
    if (run->discarded) FAIL(ABANDONED, "a kernel was left");
    if (!world->calm && world_chance(world, 300)) FAIL(FAILED, "division by zero");
    TRY(add_outputs(world, hold));
    run->counters.instructions++;
    const bool finished = run->items_done >= run->total;
    hold->slice.result.outcome = finished ? JOB_RUN_FINISHED : JOB_RUN_SLICE_ENDED;
    if (!finished && world_chance(world, 20))
        hold->slice.result = (JobRunResult){
            .outcome = JOB_RUN_NEEDS_MEMORY, .bytes = world_random(world, GROWTH_BYTES_MAX)};
    return NULL;
}

static void end_slice(ControlWorld *world, Message *message) {
    JobHold *hold = CONTAINER_OF(message, JobHold, slice_ended);
    WorldRun *run = run_of(hold);
    WorldDevice *device = &world->devices[run->device];
    assert_true(run->has_slice);
    hold->slice.error = do_slice(world, hold);
    hold->slice.start_ns = run->start_ns;
    hold->slice.device_time_ns = world->clock.now_ns - run->start_ns;
    run->has_slice = run->waits = false;
    if (world_forget(world, &hold->paused)) /* its kernel ended before it had to wait */
        atomic_store(&hold->pause_told, false);
    if (device->slice == hold) device->slice = NULL;
}

static bool run(void *self, JobHold *hold, uint32_t device, uint64_t grant_bytes) {
    ControlWorld *world = self;
    WorldRun *made = run_of(hold);
    (void)grant_bytes;
    assert_false(made->has_slice);
    assert_false(world->devices[device].closed);
    assert_null(world->devices[device].slice); /* one slice has a device */
    assert_int_equal(hold->outputs.count, 0);
    hold->slice = (WorkerSlice){0};
    made->has_slice = true;
    made->device = device;
    made->start_ns = world->clock.now_ns;
    world->devices[device].slice = hold;
    world_post(world, &hold->slice_ended, world_random(world, SLICE_NS_MAX), end_slice);
    return world_chance(world, 4);
}

static void set_aside(void *self, uint32_t device) {
    /* a slice that was set aside before, and has the device again, is aside for the worker anyway
     */
    ((ControlWorld *)self)->devices[device].slice = NULL;
}

static void end_in(ControlWorld *world, JobHold *hold, uint64_t delay_ns) {
    WorldEntry *entry = world_find(world, &hold->slice_ended);
    if (entry) entry->time_ns = world->clock.now_ns + delay_ns; /* else it has ended */
}

/* A kernel that takes long: the slice waits where it is, or runs on. */
static void pause_slice(ControlWorld *world, JobHold *hold, uint64_t from_ns) {
    WorldRun *made = run_of(hold);
    if (!made->has_slice || !world_find(world, &hold->slice_ended)) return;
    if (!world_chance(world, 6)) {
        end_in(world, hold, world_random(world, 3000000));
        return;
    }
    end_in(world, hold, NEVER_NS);
    if (world_chance(world, 3)) return; /* it does not look at the stop */
    made->waits = true;
    const uint64_t now_ns = world->clock.now_ns;
    if (!atomic_exchange(&hold->pause_told, true))
        world_post(world, &hold->paused, from_ns > now_ns ? from_ns - now_ns : 0, NULL);
}

static void request(void *self, JobHold *hold, ExecutorRequest what, uint64_t from_ns) {
    ControlWorld *world = self;
    assert_non_null(hold->run);
    switch (what) {
    case EXECUTOR_PAUSE:
        pause_slice(world, hold, from_ns);
        return;
    case EXECUTOR_RESUME:
        run_of(hold)->waits = false;
        end_in(world, hold, world_random(world, 300000000));
        return;
    case EXECUTOR_DISCARD:
        run_of(hold)->discarded = world_chance(world, 2);
        end_in(world, hold, world_random(world, 3000000));
        return;
    case EXECUTOR_ABANDON:
        end_in(world, hold, world_random(world, 3000000));
        return;
    }
}

static LongKernel get_kernel(void *self, const JobHold *hold) {
    (void)self;
    const WorldRun *made = run_of(hold);
    return made && made->has_slice ? (LongKernel){.name = "MatMul"} : (LongKernel){0};
}

/* ---- runs that rest ---- */

static Error *take_snapshot(void *self, const JobHold *hold, JobSnapshot *out_snapshot) {
    (void)self;
    const WorldRun *made = run_of(hold);
    assert_non_null(made);
    assert_false(made->has_slice);
    *out_snapshot = (JobSnapshot){.sequence = made->sequence, .items_done = made->items_done};
    return NULL;
}

static int64_t items_done(void *self, const JobHold *hold) {
    (void)self;
    return run_of(hold)->items_done;
}

static JobRunCounters get_counters(void *self, const JobHold *hold) {
    (void)self;
    return run_of(hold)->counters;
}

static char *take_class_change(void *self, JobHold *hold) {
    (void)self;
    assert_non_null(hold->run);
    return NULL;
}

static bool find_inputs(void *self, const JobHold *hold, ExecutorInputs *out_inputs) {
    (void)self;
    if (!hold->batch) return false;
    *out_inputs = (ExecutorInputs){batch_bytes(hold->batch), batch_item_count(hold->batch)};
    return true;
}

static void drop_inputs(void *self, JobHold *hold) {
    (void)self;
    batch_release(TAKE(hold->batch));
}

static void close_hold(void *self, JobHold *hold) {
    WorldRun *made = run_of(hold);
    assert_false(made && made->has_slice);
    assert_null(world_find(self, &hold->slice_ended));
    memory_free(made);
    hold->run = NULL;
    hold->residency = NULL;
    batch_release(TAKE(hold->batch));
}

/* ---- devices ---- */

static void evict(void *self, TenantId tenant, const Digest *identity, uint32_t device) {
    (void)tenant;
    (void)identity;
    assert_true(device < ((ControlWorld *)self)->device_count);
}

static void evict_all(void *self, uint32_t device) {
    assert_true(((ControlWorld *)self)->devices[device].lost);
}

static Error *add_device(void *self, const char *spec, bool measures, ExecutorDevice *out_device) {
    ControlWorld *world = self;
    (void)measures;
    *out_device = (ExecutorDevice){.name = spec,
        .kind = "world",
        .determinism_class = "world",
        .memory_bytes = DEVICE_BYTES,
        .speed = 1 + world->device_count};
    world->devices[world->device_count++] = (WorldDevice){0};
    return NULL;
}

static Error *get_memory(void *self, uint32_t device, DeviceMemory *out_memory) {
    (void)self;
    (void)device;
    *out_memory = (DeviceMemory){.total_bytes = DEVICE_BYTES};
    return NULL;
}

ControlExecutorPort world_executor_port(ControlWorld *world) {
    return (ControlExecutorPort){.post = post,
        .open_at_once = open_at_once,
        .run = run,
        .set_aside = set_aside,
        .request = request,
        .get_kernel = get_kernel,
        .take_snapshot = take_snapshot,
        .items_done = items_done,
        .get_counters = get_counters,
        .take_class_change = take_class_change,
        .find_inputs = find_inputs,
        .drop_inputs = drop_inputs,
        .close = close_hold,
        .evict = evict,
        .evict_all = evict_all,
        .add_device = add_device,
        .get_memory = get_memory,
        .host_bytes = DEVICE_BYTES,
        .self = world};
}
