#include "scheduler/http/server/jobs_api.h"

#include <math.h>

#include "scheduler/http/client/json_fields.h"

void jobs_api_deadline_json(const JobsApiJob *job, json_object *inout_object) {
    bool has = !isnan(job->deadline), promised = has && job->promised_end > 0;
    bool feasible = job->promised_end <= job->deadline;
    json_fields_real(inout_object, "deadline", job->deadline);
    json_fields_add(inout_object, "missed", has ? json_object_new_boolean(job->missed) : NULL);
    json_fields_add(inout_object, "feasible", promised ? json_object_new_boolean(feasible) : NULL);
    json_fields_real(inout_object, "earliest_end", promised ? job->promised_end : NAN);
}

Error *jobs_api_traffic_json(const ExecutionTraffic *traffic, json_object *inout_object) {
    json_object *object = NULL;
    if (traffic) {
        TRY(json_fields_create(&object));
        json_fields_int(object, "copies_to_host", (int64_t)traffic->copies_to_host);
        json_fields_int(object, "bytes_to_host", (int64_t)traffic->bytes_to_host);
        json_fields_int(object, "copies_to_device", (int64_t)traffic->copies_to_device);
        json_fields_int(object, "bytes_to_device", (int64_t)traffic->bytes_to_device);
        json_fields_int(object, "waits", (int64_t)traffic->waits);
    }
    json_fields_add(inout_object, "traffic", object);
    return NULL;
}

Error *jobs_api_job_json(const JobsApiJob *job, json_object **out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", job->job);
    json_fields_text(object, "model", job->model);
    json_fields_text(object, "tenant", job->tenant);
    json_fields_text(object, "state", job->state);
    if (job->items_total < 0)
        json_fields_text(object, "items_done", NULL);
    else
        json_fields_int(object, "items_done", job->items_done);
    json_fields_int_or_null(object, "items_total", job->items_total);
    json_fields_text_or_null(object, "device", job->device);
    json_fields_text(object, "priority", policy_class_names[job->priority]);
    json_fields_real(object, "submitted", job->submitted);
    json_fields_real(object, "started", job->started);
    json_fields_real(object, "finished", job->finished);
    jobs_api_deadline_json(job, object);
    json_fields_real(object, "device_seconds", job->device_seconds);
    json_fields_real(object, "checkpoint_age", job->checkpoint_age_s);
    json_fields_text_or_null(object, "migrating", job->migrating);
    if (*job->moved_state) json_fields_text(object, "moved_state", job->moved_state);
    json_fields_text_or_null(object, "why", job->why);
    json_fields_add(object, "ended", json_object_new_boolean(job->ended));
    json_fields_int(object, "outputs", job->outputs);
    json_fields_int_or_null(object, "instructions", job->instructions);
    json_fields_int_or_null(object, "kernel_calls", job->kernel_calls);
    json_fields_int_or_null(object, "peak_bytes", job->peak_bytes);
    Error *error = jobs_api_traffic_json(job->instructions < 0 ? NULL : &job->traffic, object);
    if (error) {
        json_object_put(object);
        return error;
    }
    *out = object;
    return NULL;
}

Error *jobs_api_event_json(const JobsApiEvent *event, json_object **out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_int(object, "seq", event->sequence);
    json_fields_real(object, "time", event->time);
    json_fields_text(object, "state", event->state);
    json_fields_text(object, "kind", event->kind);
    json_fields_text_or_null(object, "why", event->why);
    *out = object;
    return NULL;
}

Error *jobs_api_verification_json(const JobsApiVerification *it, json_object **out) {
    json_object *object, *classes;
    TRY(json_fields_create(&object));
    Error *error = json_fields_create(&classes);
    if (error) {
        json_object_put(object);
        return error;
    }
    json_fields_text_or_null(object, "job", it->job);
    json_fields_text(object, "state", it->state);
    json_fields_int(object, "from", it->checkpoint);
    json_fields_int(object, "outputs", it->outputs);
    json_fields_int(object, "compared", it->compared);
    json_fields_int_or_null(object, "sequence", it->sequence);
    json_fields_text(object, "replay", it->replay);
    json_fields_text(object, "replay_state", it->replay_state);
    json_fields_text_or_null(object, "why", it->why);
    json_fields_text(classes, "job", it->determinism_class);
    json_fields_text(classes, "replay", it->replay_class);
    json_fields_add(object, "determinism_class", classes);
    *out = object;
    return NULL;
}

Error *jobs_api_device_json(const JobsApiDevice *device, json_object **out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "device", device->device);
    json_fields_text(object, "name", device->name);
    json_fields_int(object, "memory_bytes", (int64_t)device->memory_bytes);
    json_fields_int(object, "free_bytes", (int64_t)device->free_bytes);
    json_fields_text(object, "determinism_class", device->determinism_class);
    *out = object;
    return NULL;
}
