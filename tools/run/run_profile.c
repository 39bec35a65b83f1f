#include "tools/run/run_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/cpu/core/cpu_limits.h"
#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_cost.h"

enum { PROFILE_NAME_SIZE = 64 };

typedef struct ProfileRow {
    char name[PROFILE_NAME_SIZE], kernel[PROFILE_NAME_SIZE];
    uint64_t calls, ns;
    OperatorCost cost; /* sum over all calls */
} ProfileRow;

static Error *find_row(
    RunProfile *profile, const char *name, const char *kernel, ProfileRow **out) {
    for (size_t i = 0; i < profile->row_count; i++)
        if (strncmp(profile->rows[i].name, name, PROFILE_NAME_SIZE - 1) == 0 &&
            strncmp(profile->rows[i].kernel, kernel, PROFILE_NAME_SIZE - 1) == 0) {
            *out = &profile->rows[i];
            return NULL;
        }
    void *array = profile->rows;
    TRY(memory_grow(&array, profile->row_count, &profile->row_capacity, sizeof(ProfileRow)));
    profile->rows = array;
    ProfileRow *row = &profile->rows[profile->row_count++];
    *row = (ProfileRow){0};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    (void)snprintf(row->kernel, sizeof row->kernel, "%s", kernel);
    *out = row;
    return NULL;
}

/* A view reads and writes nothing; an append reads and writes only the piece. */
static OperatorCost cost_of(const InstrumentCall *call) {
    const InstrumentKernel *kernel = call->kernel;
    TensorSpec outputs[PLAN_OUTPUTS_MAX];
    if (!kernel || strcmp(kernel->name, "view") == 0) return (OperatorCost){0};
    for (uint32_t i = 0; i < call->result_count; i++)
        outputs[i] = tensor_spec(call->results[i].tensor);
    OperatorCall made = {
        .operator_info = kernel->operator_info,
        .attributes = kernel->attributes,
        .input_count = kernel->input_count,
        .output_count = call->result_count,
        .inputs = kernel->inputs,
        .outputs = outputs,
    };
    if (strcmp(kernel->name, "append") == 0) {
        made.inputs = made.outputs = &kernel->inputs[1];
        made.input_count = made.output_count = 1;
    }
    return operator_cost(&made);
}

static Error *on_call(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    RunProfile *profile = context;
    *out_answer = INSTRUMENT_RUN;
    if (call->nested) return NULL; /* its calls have rows of their own */
    if (call->before) {
        profile->start_ns = clock_now_ns(clock_real());
        return NULL;
    }
    const MemoryPool *pool = execution_get_pool(profile->execution, SLOT_DEVICE);
    TRY(device_stream_synchronize(memory_pool_get_device(pool), memory_pool_get_stream(pool)));
    uint64_t now = clock_now_ns(clock_real());
    const OperatorCost cost = cost_of(call);
    ProfileRow *row;
    TRY(find_row(profile, call->name, call->kernel ? call->kernel->name : "packed function", &row));
    row->calls++;
    row->ns += now - profile->start_ns;
    row->cost.operations += cost.operations;
    row->cost.bytes += cost.bytes;
    return NULL;
}

Error *run_profile_attach(RunProfile *profile, Execution *execution, uint32_t threads) {
    ProfileRow *first;
    TRY(find_row(profile, "", "", &first)); /* so that the array is not NULL */
    profile->row_count = 0;
    profile->execution = execution;
    profile->threads = threads;
    execution_set_instrument(execution, on_call, profile);
    return NULL;
}

static int compare(const void *a, const void *b) {
    const ProfileRow *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

/* ---- limits ---- */

/* Measures the limits of the processor, on which cpu and sim compute. All 0 for other devices and
 * after a failure; the table then has no shares of the limits. */
static void find_limits(const RunProfile *profile, CpuLimits *out) {
    const MemoryPool *pool = execution_get_pool(profile->execution, SLOT_DEVICE);
    const char *kind = memory_pool_get_device(pool)->class_->kind;
    OWN(Device, processor) = NULL;
    *out = (CpuLimits){0};
    if (strcmp(kind, "cpu") != 0 && strcmp(kind, "sim") != 0) return;
    Error *error = device_open("cpu", &processor);
    if (!error) error = cpu_limits_measure(processor, profile->threads, out);
    error_free(error); /* without limits the profile is still complete */
}

/* ---- printing ---- */

typedef struct Rates {
    /* shares: of the limits; -1: unknown */
    double ms, share, gflops, gbytes, flops_share, bytes_share;
} Rates;

static Rates rates_of(const ProfileRow *row, uint64_t total_ns, const CpuLimits *limits) {
    const double ns = row->ns ? (double)row->ns : 1;
    Rates rates = {
        .ms = (double)row->ns * 1e-6,
        .share = total_ns ? (double)row->ns / (double)total_ns : 0,
        .gflops = row->cost.operations / ns,
        .gbytes = row->cost.bytes / ns,
        .flops_share = -1,
        .bytes_share = -1,
    };
    if (limits->operations_per_ns > 0) rates.flops_share = rates.gflops / limits->operations_per_ns;
    if (limits->bytes_per_ns > 0) rates.bytes_share = rates.gbytes / limits->bytes_per_ns;
    return rates;
}

static void print_share(double share) {
    if (share < 0)
        (void)fprintf(stderr, " %7s", "-");
    else
        (void)fprintf(stderr, " %6.1f%%", 100 * share);
}

static void print_text(const ProfileRow *row, const Rates *rates) {
    (void)fprintf(stderr, "%-24s %-24s %8llu %10.3f %6.1f%% %9.2f", row->name, row->kernel,
        (unsigned long long)row->calls, rates->ms, 100 * rates->share, rates->gflops);
    print_share(rates->flops_share);
    (void)fprintf(stderr, " %9.2f", rates->gbytes);
    print_share(rates->bytes_share);
    (void)fprintf(stderr, "\n");
}

static void print_json_share(const char *name, double share) {
    if (share < 0)
        (void)fprintf(stderr, ",\"%s\":null", name);
    else
        (void)fprintf(stderr, ",\"%s\":%.6f", name, share);
}

static void print_json_rates(const ProfileRow *row, const Rates *rates) {
    (void)fprintf(stderr, "\"calls\":%llu,\"ms\":%.6f,\"gflops\":%.6f,\"gbytes_per_s\":%.6f",
        (unsigned long long)row->calls, rates->ms, rates->gflops, rates->gbytes);
    print_json_share("flops_share", rates->flops_share);
    print_json_share("bytes_share", rates->bytes_share);
}

static void print_row(
    const CommandContext *context, const ProfileRow *row, uint64_t total, const CpuLimits *limits) {
    const Rates rates = rates_of(row, total, limits);
    if (!context->json) {
        print_text(row, &rates);
        return;
    }
    (void)fprintf(stderr, "{\"operator\":\"%s\",\"kernel\":\"%s\",\"share\":%.6f,", row->name,
        row->kernel, rates.share);
    print_json_rates(row, &rates);
    (void)fprintf(stderr, "}\n");
}

static void print_json_end(const ProfileRow *all, const CpuLimits *limits) {
    const Rates rates = rates_of(all, all->ns, limits);
    (void)fprintf(stderr, "{\"total\":{");
    print_json_rates(all, &rates);
    (void)fprintf(stderr, "},\"limits\":");
    if (limits->threads)
        (void)fprintf(stderr, "{\"threads\":%u,\"gflops\":%.6f,\"gbytes_per_s\":%.6f}}\n",
            limits->threads, limits->operations_per_ns, limits->bytes_per_ns);
    else
        (void)fprintf(stderr, "null}\n");
}

static void print_end(
    const CommandContext *context, const ProfileRow *all, const CpuLimits *limits) {
    if (context->json) {
        print_json_end(all, limits);
        return;
    }
    print_row(context, all, all->ns, limits);
    if (limits->threads)
        (void)fprintf(stderr,
            "limits of this machine on %u thread%s: %.1f GFLOP/s (multiply-adds of float32), %.1f "
            "GB/s (reading memory; caches are faster)\n",
            limits->threads, limits->threads == 1 ? "" : "s", limits->operations_per_ns,
            limits->bytes_per_ns);
    (void)fprintf(stderr, "times are of calls one by one, each with the wait for its device\n");
}

void run_profile_print(RunProfile *profile, const CommandContext *context) {
    if (!profile->rows) return;
    ProfileRow all = {.name = "total", .kernel = ""};
    CpuLimits limits;
    find_limits(profile, &limits);
    qsort(profile->rows, profile->row_count, sizeof *profile->rows, compare);
    for (size_t i = 0; i < profile->row_count; i++) {
        const ProfileRow *row = &profile->rows[i];
        all.calls += row->calls;
        all.ns += row->ns;
        all.cost.operations += row->cost.operations;
        all.cost.bytes += row->cost.bytes;
    }
    if (!context->json)
        (void)fprintf(stderr, "%-24s %-24s %8s %10s %7s %9s %7s %9s %7s\n", "operator", "kernel",
            "calls", "ms", "share", "GFLOP/s", "of max", "GB/s", "of max");
    for (size_t i = 0; i < profile->row_count; i++)
        print_row(context, &profile->rows[i], all.ns, &limits);
    print_end(context, &all, &limits);
}

void run_profile_deinit(RunProfile *profile) {
    memory_free(profile->rows);
    *profile = (RunProfile){0};
}
