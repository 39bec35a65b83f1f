#include "kernels/process/process_handles.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/allocator.h"

typedef struct Handle {
    uint32_t generation; /* of the place: numbers of earlier objects do not match */
    Plan *plan;          /* one of these two; both NULL: the place is empty */
    DeviceEvent *event;
    uint64_t uses; /* finished uses */
    /* the use after which the object is freed; UINT64_MAX while it is not dropped */
    uint64_t last_use;
    uint64_t recorded; /* of an event: the number of the last queued recording */
} Handle;

struct ProcessHandles {
    Device *device;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    Handle *items;
    size_t count, capacity;
    uint32_t *empty; /* places below count */
    size_t empty_count;
    bool ending;
};

Error *process_handles_create(Device *device, ProcessHandles **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessHandles), &memory));
    ProcessHandles *handles = memory;
    handles->device = device;
    (void)pthread_mutex_init(&handles->mutex, NULL);
    (void)pthread_cond_init(&handles->changed, NULL);
    *out = handles;
    return NULL;
}

static void release_target(const ProcessHandles *handles, Plan *plan, DeviceEvent *event) {
    plan_release(plan);
    if (event) handles->device->class_->event_destroy(handles->device, event);
}

void process_handles_release(ProcessHandles *handles) {
    if (!handles) return;
    for (size_t i = 0; i < handles->count; i++)
        release_target(handles, handles->items[i].plan, handles->items[i].event);
    memory_free(handles->items);
    memory_free(handles->empty);
    (void)pthread_cond_destroy(&handles->changed);
    (void)pthread_mutex_destroy(&handles->mutex);
    memory_free(handles);
}

static uint64_t id_of(uint32_t index, uint32_t generation) {
    return (uint64_t)generation << 32 | index;
}

/* Makes room for one more object, and for its place in the list of empty ones. */
static Error *grow(ProcessHandles *handles) {
    void *array = handles->items;
    Error *error = memory_grow(&array, handles->count, &handles->capacity, sizeof(Handle));
    handles->items = array;
    TRY(error);
    array = handles->empty;
    error = memory_resize(&array, handles->capacity, sizeof handles->empty[0]);
    handles->empty = array;
    TRY(error);
    if (handles->count >= UINT32_MAX) FAIL(EXHAUSTED, "too many plans");
    handles->items[handles->count] = (Handle){0};
    handles->empty[handles->empty_count++] = (uint32_t)handles->count++;
    return NULL;
}

static Error *add_locked(
    ProcessHandles *handles, Plan *plan, DeviceEvent *event, uint64_t *out_id) {
    if (handles->empty_count == 0) TRY(grow(handles));
    uint32_t index = handles->empty[--handles->empty_count];
    Handle *handle = &handles->items[index];
    *handle = (Handle){
        .generation = handle->generation + 1, .plan = plan, .event = event, .last_use = UINT64_MAX};
    *out_id = id_of(index, handle->generation);
    return NULL;
}

static Error *add(ProcessHandles *handles, Plan *plan, DeviceEvent *event, uint64_t *out_id) {
    (void)pthread_mutex_lock(&handles->mutex);
    Error *error = add_locked(handles, plan, event, out_id);
    (void)pthread_mutex_unlock(&handles->mutex);
    if (error) release_target(handles, plan, event);
    return error;
}

Error *process_handles_add_plan(ProcessHandles *handles, Plan *owned_plan, uint64_t *out_id) {
    return add(handles, owned_plan, NULL, out_id);
}

Error *process_handles_add_event(
    ProcessHandles *handles, DeviceEvent *owned_event, uint64_t *out_id) {
    return add(handles, NULL, owned_event, out_id);
}

/* Called under the mutex. NULL: there is no such object. */
static Handle *find(ProcessHandles *handles, uint64_t id) {
    uint32_t index = (uint32_t)id;
    if (index >= handles->count) return NULL;
    Handle *handle = &handles->items[index];
    bool same = handle->generation == id >> 32 && (handle->plan || handle->event);
    return same ? handle : NULL;
}

Error *process_handles_get_plan(ProcessHandles *handles, uint64_t id, Plan **out) {
    (void)pthread_mutex_lock(&handles->mutex);
    const Handle *handle = find(handles, id);
    Plan *plan = handle ? handle->plan : NULL;
    (void)pthread_mutex_unlock(&handles->mutex);
    if (!plan) FAIL(CORRUPT, "there is no plan %" PRIx64, id);
    *out = plan;
    return NULL;
}

Error *process_handles_get_event(ProcessHandles *handles, uint64_t id, DeviceEvent **out) {
    (void)pthread_mutex_lock(&handles->mutex);
    const Handle *handle = find(handles, id);
    DeviceEvent *event = handle ? handle->event : NULL;
    (void)pthread_mutex_unlock(&handles->mutex);
    if (!event) FAIL(CORRUPT, "there is no event %" PRIx64, id);
    *out = event;
    return NULL;
}

/* Called under the mutex. Empties the place if the last use is done; the caller must release the
 * returned object. */
static Handle take_if_done(ProcessHandles *handles, Handle *handle) {
    Handle taken = {0};
    if (handle->uses < handle->last_use) return taken;
    taken = *handle;
    handle->plan = NULL;
    handle->event = NULL;
    handles->empty[handles->empty_count++] = (uint32_t)(handle - handles->items);
    return taken;
}

void process_handles_count_use(ProcessHandles *handles, uint64_t id) {
    Handle taken = {0};
    (void)pthread_mutex_lock(&handles->mutex);
    Handle *handle = find(handles, id);
    if (handle) {
        handle->uses++;
        taken = take_if_done(handles, handle);
    }
    (void)pthread_mutex_unlock(&handles->mutex);
    release_target(handles, taken.plan, taken.event);
}

void process_handles_drop(ProcessHandles *handles, uint64_t id, uint64_t uses) {
    Handle taken = {0};
    (void)pthread_mutex_lock(&handles->mutex);
    Handle *handle = find(handles, id);
    if (handle) {
        handle->last_use = uses;
        taken = take_if_done(handles, handle);
    }
    (void)pthread_mutex_unlock(&handles->mutex);
    release_target(handles, taken.plan, taken.event);
}

void process_handles_set_recorded(ProcessHandles *handles, uint64_t id, uint64_t number) {
    (void)pthread_mutex_lock(&handles->mutex);
    Handle *handle = find(handles, id);
    if (handle && handle->recorded < number) handle->recorded = number;
    (void)pthread_cond_broadcast(&handles->changed);
    (void)pthread_mutex_unlock(&handles->mutex);
}

void process_handles_wait_recorded(ProcessHandles *handles, uint64_t id, uint64_t number) {
    (void)pthread_mutex_lock(&handles->mutex);
    for (;;) {
        const Handle *handle = find(handles, id);
        if (!handle || handle->recorded >= number || handles->ending) break;
        (void)pthread_cond_wait(&handles->changed, &handles->mutex);
    }
    (void)pthread_mutex_unlock(&handles->mutex);
}

void process_handles_end(ProcessHandles *handles) {
    (void)pthread_mutex_lock(&handles->mutex);
    handles->ending = true;
    (void)pthread_cond_broadcast(&handles->changed);
    (void)pthread_mutex_unlock(&handles->mutex);
}
