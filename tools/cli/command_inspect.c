#include <stdio.h>

#include "serialize/checkpoint/checkpoint_summary.h"
#include "serialize/checkpoint/job_file.h"
#include "store/database/job_id.h"
#include "tools/client/command.h"
#include "tools/cli/inspect_program.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_inspect_options[] = {{0}};

static json_object *frames_json(const CheckpointSummary *summary) {
    json_object *frames = json_object_new_array();
    for (uint32_t i = 0; i < summary->frame_count; i++) {
        json_object *frame = json_object_new_object();
        json_fields_text(frame, "function", summary->frames[i].function_name);
        json_fields_int(frame, "pc", summary->frames[i].pc);
        json_fields_text(frame, "instruction", summary->frames[i].instruction);
        json_object_array_add(frames, frame);
    }
    return frames;
}

static json_object *live_json(const CheckpointSummary *summary) {
    json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < summary->live_count; i++) {
        const SummaryLive *live = &summary->live[i];
        json_object *item = json_object_new_object();
        json_fields_int(item, "frame", live->frame);
        json_fields_int(item, "register", live->index);
        json_fields_text(item, "kind", live->kind);
        if (live->dtype != DTYPE_NONE) {
            json_object *shape = json_object_new_array();
            for (uint32_t d = 0; d < live->shape.rank; d++)
                json_object_array_add(shape, json_object_new_int64(live->shape.dims[d]));
            json_fields_text(item, "dtype", dtype_name(live->dtype));
            json_object_object_add(item, "shape", shape);
        }
        json_fields_int(item, "bytes", (int64_t)live->bytes);
        json_object_array_add(list, item);
    }
    return list;
}

static void print_id(const JobFile *job, char out[JOB_ID_TEXT_SIZE]) {
    job_id_print((JobId){job->origin.node, job->origin.number}, out);
}

static const char *owner_name(const JobFile *job, const char *release) {
    switch (job->origin.owner) {
    case JOB_FILE_COPY:
        return "copy";
    case JOB_FILE_RELEASE:
        return release;
    case JOB_FILE_MOVE:
        return "move";
    }
    return "unknown";
}

/* The fields of a job's file other than the execution's. */
static json_object *job_json(const JobFile *job) {
    char id[JOB_ID_TEXT_SIZE];
    json_object *object = json_object_new_object();
    print_id(job, id);
    json_fields_text(object, "job", id);
    json_fields_int(object, "epoch", job->origin.epoch);
    json_fields_text(object, "owner", owner_name(job, "release"));
    json_fields_text(object, "model", job->model);
    json_fields_int(object, "items_done", job->items_done);
    json_fields_int(object, "items_total", job->items_total);
    json_fields_int(object, "outputs", (int64_t)job->output_count);
    json_object_object_add(object, "with_model", json_object_new_boolean(job->executable != NULL));
    return object;
}

static void print_job(const JobFile *job) {
    char id[JOB_ID_TEXT_SIZE];
    print_id(job, id);
    printf("%s of job %s, model %s, epoch %lld: %zu outputs", owner_name(job, "owner"), id,
        job->model, (long long)job->origin.epoch, job->output_count);
    if (job->items_total >= 0)
        printf(", %lld of %lld items", (long long)job->items_done, (long long)job->items_total);
    printf("%s\n", job->executable ? ", with its executable" : "");
}

static Error *print_json(
    const Container *container, const CheckpointSummary *summary, const JobFile *job) {
    char identity[DIGEST_TEXT_SIZE];
    json_object *object, *sections = json_object_new_object();
    TRY(json_fields_create(&object));
    digest_print(&summary->header.executable, identity);
    for (size_t i = 0; i < container_section_count(container); i++) {
        ContainerSection section = container_get_section_info(container, i);
        json_object_object_add(
            sections, section.name, json_object_new_int64((int64_t)section.size));
    }
    json_object_object_add(object, "frames", frames_json(summary));
    json_object_object_add(object, "live", live_json(summary));
    json_fields_text(object, "executable", identity);
    json_fields_text(object, "determinism_class", summary->header.determinism_class);
    json_fields_int(object, "instructions", (int64_t)summary->instructions);
    json_fields_int(object, "kernel_calls", (int64_t)summary->kernel_calls);
    json_fields_int(object, "yields", (int64_t)summary->yields);
    json_fields_int(object, "tensor_bytes", (int64_t)summary->tensor_bytes);
    if (job) json_object_object_add(object, "job", job_json(job));
    json_object_object_add(object, "sections", sections);
    return command_print_json(object);
}

static void print_text(
    const Container *container, const CheckpointSummary *summary, const JobFile *job) {
    enum { FRAMES_SHOWN = 20, LIVE_SHOWN = 200 };
    char identity[DIGEST_TEXT_SIZE];
    digest_print(&summary->header.executable, identity);
    if (job) print_job(job);
    printf("executable %.16s\nclass      %s\n%llu instructions, %llu kernel calls so far\n",
        identity, summary->header.determinism_class, (unsigned long long)summary->instructions,
        (unsigned long long)summary->kernel_calls);
    uint32_t first = summary->frame_count > FRAMES_SHOWN ? summary->frame_count - FRAMES_SHOWN : 0;
    if (first) printf("%u frames, the innermost:\n", summary->frame_count);
    for (uint32_t i = first; i < summary->frame_count; i++) {
        const SummaryFrame *frame = &summary->frames[i];
        printf("frame %u: %s, instruction %u: %s\n", i,
            frame->function_name ? frame->function_name : "?", frame->pc,
            frame->instruction ? frame->instruction : "?");
    }
    for (uint32_t i = 0; i < summary->live_count && i < LIVE_SHOWN; i++) {
        TextBuilder OWN_TEXT(shape) = {0};
        const SummaryLive *live = &summary->live[i];
        if (live->dtype != DTYPE_NONE) shape_print(&live->shape, &shape);
        printf("  frame %u r%-4u %s %s %s %llu bytes\n", live->frame, live->index, live->kind,
            live->dtype != DTYPE_NONE ? dtype_name(live->dtype) : "", text_builder_get(&shape),
            (unsigned long long)live->bytes);
    }
    if (summary->live_count > LIVE_SHOWN) printf("  ... of %u\n", summary->live_count);
    printf("%llu bytes of tensors; sections:", (unsigned long long)summary->tensor_bytes);
    for (size_t i = 0; i < container_section_count(container); i++) {
        ContainerSection section = container_get_section_info(container, i);
        printf(" %s %llu", section.name, (unsigned long long)section.size);
    }
    printf("\n");
}

Error *command_inspect(CommandContext *context) {
    OWN(Container, container) = NULL;
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    JobFile OWN_JOB_FILE(job) = {0};
    const char *path = context->arguments[0];
    bool done;
    TRY(inspect_program(context, path, &done));
    if (done) return NULL;
    TRY(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    TRY_WRAP(checkpoint_summary_read(container, &summary), "%s", path);
    bool is_job = job_file_is(container);
    if (is_job) TRY_WRAP(job_file_read(container, &job), "%s", path);
    if (context->json) return print_json(container, &summary, is_job ? &job : NULL);
    print_text(container, &summary, is_job ? &job : NULL);
    return NULL;
}
