#include "tools/run_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"

enum { PROFILE_NAME_SIZE = 64 };

typedef struct ProfileRow {
    char name[PROFILE_NAME_SIZE];
    uint64_t calls, ns;
} ProfileRow;

static Error *find_row(RunProfile *profile, const char *name, ProfileRow **out) {
    for (size_t i = 0; i < profile->row_count; i++)
        if (strncmp(profile->rows[i].name, name, PROFILE_NAME_SIZE - 1) == 0) {
            *out = &profile->rows[i];
            return NULL;
        }
    void *array = profile->rows;
    TRY(memory_grow(&array, profile->row_count, &profile->row_capacity, sizeof(ProfileRow)));
    profile->rows = array;
    ProfileRow *row = &profile->rows[profile->row_count++];
    *row = (ProfileRow){0};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    *out = row;
    return NULL;
}

static Error *on_call(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    RunProfile *profile = context;
    *out_answer = INSTRUMENT_RUN;
    if (call->before) {
        profile->start_ns = clock_now_ns(clock_real());
        return NULL;
    }
    const MemoryPool *pool = execution_get_pool(profile->execution, SLOT_DEVICE);
    TRY(device_stream_synchronize(memory_pool_get_device(pool), memory_pool_get_stream(pool)));
    uint64_t now = clock_now_ns(clock_real());
    ProfileRow *row;
    TRY(find_row(profile, call->name, &row));
    row->calls++;
    row->ns += now - profile->start_ns;
    return NULL;
}

Error *run_profile_attach(RunProfile *profile, Execution *execution) {
    ProfileRow *first;
    TRY(find_row(profile, "", &first)); /* so that rows is not NULL */
    profile->row_count = 0;
    profile->execution = execution;
    execution_set_instrument(execution, on_call, profile);
    return NULL;
}

static int compare(const void *a, const void *b) {
    const ProfileRow *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

void run_profile_print(RunProfile *profile, const CommandContext *context) {
    uint64_t total = 0;
    if (!profile->rows) return;
    qsort(profile->rows, profile->row_count, sizeof *profile->rows, compare);
    for (size_t i = 0; i < profile->row_count; i++) total += profile->rows[i].ns;
    if (!context->json)
        (void)fprintf(stderr, "%-32s %10s %12s %7s\n", "operator", "calls", "ms", "share");
    for (size_t i = 0; i < profile->row_count; i++) {
        const ProfileRow *row = &profile->rows[i];
        double ms = (double)row->ns * 1e-6, share = total ? (double)row->ns / (double)total : 0;
        if (context->json)
            (void)fprintf(stderr,
                "{\"operator\":\"%s\",\"calls\":%llu,\"ms\":%.6f,\"share\":%.6f}\n", row->name,
                (unsigned long long)row->calls, ms, share);
        else
            (void)fprintf(stderr, "%-32s %10llu %12.3f %6.1f%%\n", row->name,
                (unsigned long long)row->calls, ms, 100 * share);
    }
}

void run_profile_deinit(RunProfile *profile) {
    memory_free(profile->rows);
    *profile = (RunProfile){0};
}
