#include <json-c/json_object.h>
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/service/job_service_internal.h"

/* One stream of a job's changes. */
struct JobWatch {
    JobService *service;
    JobId id;
    TenantId tenant;
    int64_t since;   /* the last event sent */
    JobsApiJob told; /* the progress sent last */
    HttpWaker waker; /* set by start */
    bool started;
    JobWatch *next, **link; /* in service->watches, guarded by its mutex */
};

void job_service_changed(void *self, JobId job) {
    JobService *service = self;
    (void)pthread_mutex_lock(&service->watches_mutex);
    for (JobWatch *watch = service->watches; watch; watch = watch->next)
        if (watch->started && job_id_equal(watch->id, job)) watch->waker.wake(watch->waker.self);
    (void)pthread_mutex_unlock(&service->watches_mutex);
}

static void start(void *self, HttpWaker waker) {
    JobWatch *watch = self;
    (void)pthread_mutex_lock(&watch->service->watches_mutex);
    watch->waker = waker;
    watch->started = true;
    (void)pthread_mutex_unlock(&watch->service->watches_mutex);
}

static void stop(void *self) {
    JobWatch *watch = self;
    (void)pthread_mutex_lock(&watch->service->watches_mutex);
    *watch->link = watch->next;
    if (watch->next) watch->next->link = watch->link;
    (void)pthread_mutex_unlock(&watch->service->watches_mutex);
    memory_free(watch);
}

static Error *append_line(json_object *owned_object, ByteWriter *out) {
    const char *text = json_object_to_json_string_ext(owned_object, JSON_C_TO_STRING_PLAIN);
    if (text) byte_write_bytes(out, text, strlen(text));
    byte_write_u8(out, '\n');
    json_object_put(owned_object);
    return byte_writer_check(out);
}

static Error *tell_event(const JobEvent *event, ByteWriter *out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_int(object, "seq", event->sequence);
    if (event->kind == JOB_EVENT_OUTPUT)
        json_fields_int(object, "outputs", event->output_end);
    else {
        json_fields_real(object, "time", event->time);
        json_fields_text(object, "state", job_state_info(event->state)->name);
        if (event->kind != JOB_EVENT_STATE)
            json_fields_text(object, "kind", job_event_kind_name(event->kind));
        json_fields_text_or_null(object, "why", event->why);
    }
    return append_line(object, out);
}

static Error *tell_progress(JobWatch *watch, const JobsApiJob *job, ByteWriter *out) {
    json_object *object;
    bool changed = job->items_done != watch->told.items_done ||
                   strcmp(job->state, watch->told.state) != 0 ||
                   job->device_seconds - watch->told.device_seconds > 0.25;
    if (!changed) return NULL;
    watch->told = *job;
    TRY(json_fields_create(&object));
    json_fields_int(object, "seq", watch->since);
    json_fields_text(object, "state", job->state);
    if (job->items_total < 0)
        json_fields_text(object, "items_done", NULL);
    else
        json_fields_int(object, "items_done", job->items_done);
    json_fields_int_or_null(object, "items_total", job->items_total);
    json_fields_real(object, "device_seconds", job->device_seconds);
    json_fields_real(object, "checkpoint_age", job->checkpoint_age_s);
    return append_line(object, out);
}

static Error *pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    JobWatch *watch = self;
    Job row;
    JobsApiJob job;
    OWN(JobEventList, list) = NULL;
    /* the row before its events: if the row has ended, the end is among its events */
    TRY(jobs_get(watch->service->store, watch->tenant, watch->id, &row));
    TRY(job_events_list(watch->service->store, watch->tenant, watch->id, watch->since, &list));
    for (size_t i = 0; i < list->count; i++) {
        watch->since = list->items[i].sequence;
        TRY(tell_event(&list->items[i], out));
    }
    TRY(job_service_show(watch->service, &row, &job));
    TRY(tell_progress(watch, &job, out));
    *out_state = list->count == JOB_EVENTS_READ_MAX ? HTTP_STREAM_MORE
                 : job.ended                        ? HTTP_STREAM_END
                                                    : HTTP_STREAM_WAIT;
    return NULL;
}

Error *job_service_watch(
    void *self, const Caller *caller, const char *job, int64_t since, HttpStream *out_stream) {
    JobService *service = self;
    Job row;
    void *memory;
    TRY(job_service_find(service, caller, job, &row));
    TRY(memory_alloc(1, sizeof(JobWatch), &memory));
    JobWatch *watch = memory;
    watch->service = service;
    watch->id = row.id;
    watch->tenant = row.tenant;
    watch->since = since;
    watch->told.items_done = -1;
    (void)pthread_mutex_lock(&service->watches_mutex);
    watch->next = service->watches;
    watch->link = &service->watches;
    if (watch->next) watch->next->link = &watch->next;
    service->watches = watch;
    (void)pthread_mutex_unlock(&service->watches_mutex);
    *out_stream = (HttpStream){.start = start, .pull = pull, .close = stop, .self = watch};
    return NULL;
}
