/* layover-tune measures both ways of every rule of kernels/cpu/core/cpu_rules.def on this machine,
 * and prints the values that lose least. tools/tune builds and runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "kernels/cpu/device/cpu_device.h"
#include "kernels/registry/device_registry.h"
#include "tools/tuning/tune_choice.h"
#include "tools/tuning/tune_measure.h"
#include "tools/tuning/tune_table.h"

static const char USAGE_TEXT[] =
    "usage: layover-tune [--quick] [--rule NAME]... [--threads N] [--write FILE]\n"
    "--quick    few calls, each a few times: does it work\n"
    "--rule     only this rule; default all of them\n"
    "--threads  so many alone; default 1 and 2, which weigh the same, and 2 for what cuts work\n"
    "--write    puts the better values of this level into FILE, which is "
    "kernels/cpu/core/cpu_rules.def,\n"
    "           and raises its version; nothing changes where no value does\n"
    "The level of the instruction set is this processor's; ONEDNN_MAX_CPU_ISA=AVX2 takes a lower "
    "one.\n";

typedef struct Options {
    bool quick, chosen[CPU_RULE_COUNT], any_chosen;
    int64_t threads; /* 0: by the rule */
    const char *write;
} Options;

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, TABLE_SIZE_MAX = 1 << 20 };

/* ---- the calls that are measured ---- */

typedef struct Place {
    CpuRule rule;
    int64_t quantity;
    enum { PLACE_IMAGE, PLACE_PRODUCT, PLACE_CONV } kind;
    int64_t sizes[5];
} Place;

static const Place places[] = {
#define IMAGE(rule, quantity, channels, filters, side, pixels)                                     \
    {CPU_RULE_##rule, quantity, PLACE_IMAGE, {channels, filters, side, pixels}},
#define PRODUCT(rule, quantity, rows, depth, columns)                                              \
    {CPU_RULE_##rule, quantity, PLACE_PRODUCT, {rows, depth, columns}},
#define CONV(rule, quantity, channels, filters, side, kernel, groups)                              \
    {CPU_RULE_##rule, quantity, PLACE_CONV, {channels, filters, side, kernel, groups}},
#include "tools/tuning/tune_points.def"
#undef IMAGE
#undef PRODUCT
#undef CONV
};
enum { PLACE_COUNT = sizeof places / sizeof places[0] };

static void image_call(const Place *place, TuneCall *out) {
    const int64_t *sizes = place->sizes;
    out->operator_id = OPERATOR_FUSED_CONV;
    out->input_count = 3;
    out->inputs[0] = (Shape){4, {1, sizes[2], sizes[2], sizes[0]}};
    out->inputs[1] = (Shape){4, {sizes[1], sizes[0], 3, 3}};
    out->inputs[2] = (Shape){1, {sizes[1]}};
    (void)snprintf(out->attributes, sizeof out->attributes,
        "{activation=\"relu\", channels_last=1, pads=[1, 1, 1, 1], pixels=%lld}",
        (long long)(sizes[3] ? sizes[2] * sizes[2] : 0));
}

static void product_call(const Place *place, TuneCall *out) {
    const int64_t *sizes = place->sizes;
    out->operator_id = OPERATOR_MATMUL;
    out->input_count = 2;
    out->inputs[0] = (Shape){2, {sizes[0], sizes[1]}};
    out->inputs[1] = (Shape){2, {sizes[1], sizes[2]}};
    (void)snprintf(out->attributes, sizeof out->attributes, "{}");
}

static void conv_call(const Place *place, TuneCall *out) {
    const int64_t *sizes = place->sizes;
    const long long pad = (long long)(sizes[3] / 2);
    out->operator_id = OPERATOR_CONV;
    out->input_count = 3;
    out->inputs[0] = (Shape){4, {1, sizes[0], sizes[2], sizes[2]}};
    out->inputs[1] = (Shape){4, {sizes[1], sizes[0] / sizes[4], sizes[3], sizes[3]}};
    out->inputs[2] = (Shape){1, {sizes[1]}};
    (void)snprintf(out->attributes, sizeof out->attributes,
        "{group=%lld, pads=[%lld, %lld, %lld, %lld]}", (long long)sizes[4], pad, pad, pad, pad);
}

static void call_of(const Place *place, TuneCall *out) {
    *out = (TuneCall){0};
    if (place->kind == PLACE_IMAGE)
        image_call(place, out);
    else if (place->kind == PLACE_PRODUCT)
        product_call(place, out);
    else
        conv_call(place, out);
}

static double multiply_adds(const TuneCall *call) {
    double weights = (double)shape_count_unchecked(&call->inputs[1]);
    if (call->operator_id == OPERATOR_MATMUL) return weights * (double)call->inputs[0].dims[0];
    const int side = call->operator_id == OPERATOR_FUSED_CONV ? 1 : 2;
    return weights * (double)(call->inputs[0].dims[side] * call->inputs[0].dims[side + 1]);
}

/* ---- both ways ---- */

enum { ROUNDS = 6, QUICK_ROUNDS = 2, LAUNCHES_MAX = 4096 };
static const double ROUND_NS = 4e6, QUICK_ROUND_NS = 2e5, QUICK_MULTIPLY_ADDS = 4e6;

/* True for rules whose two ways may be one kernel with different preparation. */
static bool is_within_a_kernel(CpuRule rule) {
    return rule == CPU_RULE_DNNL_BANDS_TWO || rule == CPU_RULE_DNNL_BANDS_FOUR ||
           rule == CPU_RULE_DNNL_CONV_PIXELS_28 || rule == CPU_RULE_DNNL_CONV_PIXELS_14 ||
           rule == CPU_RULE_DNNL_CONV_PIXELS_7;
}

/* Calls are measured on one thread, and on two if there are two processors. Rules about cutting
 * work are measured on two only. */
enum { THREADS_MAX = 2, PASSES = 2 };

static uint32_t threads_of(
    const Options *options, CpuRule rule, uint32_t out_threads[THREADS_MAX]) {
    const bool cuts = rule == CPU_RULE_DNNL_BANDS_TWO || rule == CPU_RULE_DNNL_BANDS_FOUR;
    uint32_t count = 0;
    if (options->threads) {
        out_threads[0] = (uint32_t)options->threads;
        return 1;
    }
    if (!cuts) out_threads[count++] = 1;
    if (cuts || sysconf(_SC_NPROCESSORS_ONLN) > 1) out_threads[count++] = 2;
    return count;
}

typedef struct Points {
    TunePoint points[PASSES * THREADS_MAX * PLACE_COUNT];
    uint32_t count;
} Points;

/* Rounds of each way by turns; the shortest of each counts. */
static Error *time_ways(TuneWay ways[2], uint32_t threads, bool quick, double out_ns[2]) {
    uint32_t launches[2];
    for (int way = 0; way < 2; way++) {
        double ns;
        /* a first run also starts threads and maps pages */
        TRY(tune_way_run(&ways[way], threads, 1, &ns));
        TRY(tune_way_run(&ways[way], threads, 1, &ns));
        const double wanted = (quick ? QUICK_ROUND_NS : ROUND_NS) / ns;
        launches[way] = wanted < 1 ? 1 : wanted > LAUNCHES_MAX ? LAUNCHES_MAX : (uint32_t)wanted;
        out_ns[way] = ns;
    }
    for (int round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round++)
        for (int way = 0; way < 2; way++) {
            double ns;
            TRY(tune_way_run(&ways[way], threads, launches[way], &ns));
            if (ns < out_ns[way]) out_ns[way] = ns;
        }
    return NULL;
}

static void print_point(const TunePoint *point, uint32_t threads, const TuneWay ways[2]) {
    printf("  %10lld %7u  %10.2f %-16s %10.2f %-16s %6.2f\n", (long long)point->quantity, threads,
        point->below_ns * 1e-3, ways[0].plan->kernel_name, point->from_ns * 1e-3,
        ways[1].plan->kernel_name, point->below_ns / point->from_ns);
}

static Error *time_point(
    TuneWay ways[2], const Place *place, const Options *options, Points *inout) {
    uint32_t threads[THREADS_MAX];
    const uint32_t count = threads_of(options, place->rule, threads);
    for (uint32_t i = 0; i < count; i++) {
        double ns[2];
        TRY(time_ways(ways, threads[i], options->quick, ns));
        if (inout->count == 0)
            printf("  %10s %7s  %10s %-16s %10s %-16s %6s\n", "quantity", "threads", "below: us",
                "", "from: us", "", "ratio");
        TunePoint *point = &inout->points[inout->count++];
        *point = (TunePoint){place->quantity, ns[0], ns[1]};
        print_point(point, threads[i], ways);
    }
    return NULL;
}

/* Adds nothing where the rule decides nothing for this call on this device. */
static Error *measure(Device *device, const Place *place, const TuneCall *call,
    const Options *options, Points *inout) {
    const uint32_t level = cpu_device_get_level(device);
    TuneWay ways[2] = {0};
    Error *error = NULL;
    for (int way = 0; way < 2 && !error; way++) {
        cpu_device_force_rule(device, place->rule, way == 0 ? INT64_MAX : 0);
        error = tune_way_open(device, call, &ways[way]);
    }
    cpu_device_force_rule(device, place->rule, cpu_rule_info(place->rule)->values[level]);
    if (!error && (is_within_a_kernel(place->rule) ||
                      ways[0].plan->kernel_name != ways[1].plan->kernel_name ||
                      ways[0].layout != ways[1].layout))
        error = time_point(ways, place, options, inout);
    for (int way = 0; way < 2; way++)
        if (ways[way].device) tune_way_close(&ways[way]);
    return error;
}

/* ---- a rule ---- */

/* A present value is replaced only if a new one saves so much of the time. */
static const double MARGIN = 0.02;

static Error *tune_rule(Device *device, CpuRule rule, const Options *options, TuneTable *inout) {
    const CpuRuleInfo *info = cpu_rule_info(rule);
    const uint32_t level = cpu_device_get_level(device);
    Points found = {.count = 0};
    printf("%s, %s: %s\n", info->name, info->unit, info->decides);
    /* each pass allocates its own memory, since the addresses cause much of the difference between
     * runs */
    for (int i = 0; i < PASSES * PLACE_COUNT; i++) {
        const Place *place = &places[i % PLACE_COUNT];
        TuneCall call;
        if (place->rule != rule) continue;
        call_of(place, &call);
        if (options->quick && multiply_adds(&call) > QUICK_MULTIPLY_ADDS) continue;
        TRY(measure(device, place, &call, options, &found));
    }
    if (found.count == 0) {
        printf("  not measured: one way only%s\n", options->quick ? ", or too large" : "");
        return NULL;
    }
    const int64_t standing = info->values[level];
    const TuneChoice choice = tune_choose(found.points, found.count, standing, MARGIN);
    printf("  %lld stands: loses %.1f%%, at most %.1f%%\n", (long long)standing,
        100 * choice.standing, 100 * choice.standing_most);
    if (choice.value != standing)
        printf("  %lld is better: loses %.1f%%, at most %.1f%%\n", (long long)choice.value,
            100 * choice.regret, 100 * choice.regret_most);
    inout->values[rule][level] = choice.value;
    return NULL;
}

static Error *write_table(const char *path, const TuneTable *table) {
    uint8_t *data;
    size_t size;
    TextBuilder OWN_TEXT(before) = {0};
    TextBuilder OWN_TEXT(after) = {0};
    TRY(file_read(path, TABLE_SIZE_MAX, &data, &size));
    text_append_bytes(&before, (const char *)data, size);
    memory_unmap(data, size);
    TRY(text_builder_check(&before));
    TRY_WRAP(tune_table_write(text_builder_get(&before), table, &after), "%s", path);
    if (strcmp(text_builder_get(&before), text_builder_get(&after)) == 0) {
        printf("%s: nothing to change\n", path);
        return NULL;
    }
    TRY(file_write_atomic(path, after.data, after.size));
    printf("%s: written, with its version raised; tests/kernels/cpu/core/test_cpu_rules.c wants "
           "its digest\n",
        path);
    return NULL;
}

static Error *tune(const Options *options) {
    static const char *const levels[CPU_LEVEL_COUNT] = {"portable", "avx2", "avx512"};
    OWN(Device, device) = NULL;
    TuneTable table;
    TRY(device_open("cpu", &device));
    tune_table_of_program(&table);
    printf(
        "rules %lld, level %s\n", (long long)table.version, levels[cpu_device_get_level(device)]);
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++)
        if (!options->any_chosen || options->chosen[rule])
            TRY_WRAP(tune_rule(device, rule, options, &table), "%s", cpu_rule_info(rule)->name);
    return options->write ? write_table(options->write, &table) : NULL;
}

/* ---- the command line ---- */

static bool choose_rule(const char *name, Options *inout) {
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++)
        if (strcmp(cpu_rule_info(rule)->name, name) == 0)
            return inout->chosen[rule] = inout->any_chosen = true;
    return false;
}

static bool read_options(int count, char **words, Options *out) {
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        if (strcmp(word, "--quick") == 0) {
            out->quick = true;
            continue;
        }
        if (++i == count) return false;
        bool known = strcmp(word, "--rule") == 0 && choose_rule(words[i], out);
        known =
            known || (strcmp(word, "--threads") == 0 && text_parse_i64(words[i], &out->threads) &&
                         out->threads >= 1 && out->threads <= 64);
        if (!known && strcmp(word, "--write") == 0) known = (out->write = words[i]) != NULL;
        if (!known) return false;
    }
    return true;
}

int main(int count, char **words) {
    Options options = {0};
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_options(count, words, &options)) {
        (void)fputs(USAGE_TEXT, stderr);
        return EXIT_USAGE;
    }
    Error *error = tune(&options);
    if (!error) return 0;
    (void)fprintf(stderr, "layover-tune: %s\n", error_message(error));
    error_free(error);
    return EXIT_FAILED;
}
