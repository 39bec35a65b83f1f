#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/job_service_internal.h"
#include "scheduler/stored_arrays.h"
#include "serialize/npz.h"
#include "store/job_outputs.h"

static Error *read_row(
    JobService *service, const Job *job, int64_t sequence, ArrayList *inout_rows) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    TRY(stored_arrays_read(service->store, service->pool, job->tenant, job->id, JOB_CONTENT_OUTPUT,
        sequence, UINT64_MAX, &arrays));
    for (size_t i = 0; i < arrays.count; i++) TRY(array_list_add(inout_rows, &arrays.items[i]));
    return NULL;
}

static Error *read_rows(
    JobService *service, const Job *job, int64_t since, ArrayList *rows, JobsApiOutputs *out) {
    size_t count = JOB_OUTPUTS_LISTED_MAX;
    out->next = since;
    while (count == JOB_OUTPUTS_LISTED_MAX) {
        OWN(JobOutputList, list) = NULL;
        TRY(job_outputs_list(service->store, job->tenant, job->id, out->next, &list));
        count = list->count;
        for (size_t i = 0; i < count; i++) {
            TRY_WRAP(read_row(service, job, list->items[i].sequence, rows), "output %lld",
                (long long)list->items[i].sequence);
            out->next = list->items[i].sequence + 1;
            out->count++;
        }
    }
    return NULL;
}

static bool is_alike(const NamedArray *one, const NamedArray *two) {
    Shape shape = one->shape;
    if (two->shape.rank > 0) shape.dims[0] = two->shape.dims[0];
    return one->dtype == two->dtype && shape_equal(&shape, &two->shape);
}

/* All arrays of items[first]'s name in one, along the leading axis. */
static Error *append_alike(ArrayList *rows, size_t first, NamedArray *out) {
    const NamedArray *head = &rows->items[first];
    Shape shape = head->shape;
    shape.dims[0] = 0;
    for (size_t i = first; i < rows->count; i++) {
        const NamedArray *item = &rows->items[i];
        if (!item->name || strcmp(item->name, head->name) != 0) continue;
        if (!is_alike(head, item)) FAIL(CORRUPT, "outputs %s do not fit together", head->name);
        shape.dims[0] += item->shape.dims[0];
    }
    TRY(named_array_init(out, head->name, head->dtype, &shape));
    uint64_t at = 0;
    for (size_t i = first; i < rows->count; i++) {
        NamedArray *item = &rows->items[i];
        if (!item->name || strcmp(item->name, out->name) != 0) continue;
        if (item->size > 0) memcpy(out->data + at, item->data, (size_t)item->size);
        at += item->size;
        named_array_deinit(item);
    }
    return NULL;
}

static Error *write_rows(ArrayList *rows, bool append, NpzWriter *writer) {
    for (size_t i = 0; i < rows->count; i++) {
        NamedArray *item = &rows->items[i], all = {0};
        if (!item->name) continue; /* it was appended to one before */
        if (!append || item->shape.rank == 0 || item->dtype == DTYPE_STRING) {
            TRY(npz_writer_add(writer, item));
            named_array_deinit(item);
            continue;
        }
        TRY(append_alike(rows, i, &all));
        Error *error = npz_writer_add(writer, &all);
        named_array_deinit(&all);
        TRY(error);
    }
    return NULL;
}

static Error *write_file(ArrayList *rows, bool append, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    TRY(write_rows(rows, append, writer));
    TRY(npz_writer_finish(writer));
    return file_output_commit(output);
}

Error *job_service_outputs(void *self, const Caller *caller, const char *job, int64_t since,
    const char *path, JobsApiOutputs *out) {
    JobService *service = self;
    ArrayList OWN_ARRAYS(rows) = {0};
    JobsApiOutputs outputs = {0};
    Job row;
    TRY(job_service_find(service, caller, job, &row));
    if (row.state == JOB_STATE_MOVED)
        return job_service_fetch_outputs(service, caller, &row, since, path, out);
    TRY(read_rows(service, &row, since, &rows, &outputs));
    TRY(write_file(&rows, row.items_total >= 0, path));
    *out = outputs;
    return NULL;
}
