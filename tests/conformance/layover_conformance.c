/* layover-conformance: runs the rows of cases.def on any device, with nothing but this binary.
 *
 *   test     the checks of checks.def; the exit code is 1 when one fails
 *   bench    how long a launch takes
 *   support  what serves which operator with which element type */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/conformance_bench.h"
#include "tests/conformance/conformance_suite.h"
#include "tests/conformance/conformance_support.h"

enum { DEVICES_MAX = 16, THREADS_MAX = 1024, USAGE_CODE = 2 };

static const char usage[] =
    "layover-conformance [--mode test|bench|support] [--device SPEC]... [--operator NAME] "
    "[--check NAME] [--threads N] [--large] [--json]\n"
    "  --mode      test (default), bench or support\n"
    "  --device    may be repeated; default cpu, sim:0 and sim:0,lacks=*\n"
    "  --operator  this operator alone\n"
    "  --check     test: this check alone:\n";

typedef struct Options {
    const char *mode, *operator_name;
    const ConformanceCheckInfo *check;
    const char *devices[DEVICES_MAX];
    uint32_t device_count;
    uint32_t threads; /* that a launch may use; bench */
    bool large, json;
} Options;

static void print_usage(FILE *to) {
    (void)fputs(usage, to);
    for (uint32_t i = 0; i < conformance_check_count; i++)
        (void)fprintf(to, "                %-10s %s\n", conformance_checks[i].name,
            conformance_checks[i].promise);
    (void)fputs("  --threads   bench: so many for a launch; default 1\n"
                "  --large     bench: the cases as large as models have them alone\n"
                "  --json      one object a line\n",
        to);
}

/* A JSON string; controls do not occur. */
static void print_text(const char *text) {
    (void)putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') (void)putchar('\\');
        (void)putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    (void)putchar('"');
}

static void print_member(const char *separator, const char *name, const char *value) {
    printf("%s\"%s\": ", separator, name);
    print_text(value);
}

static void print_case(const char *spec, const ConformanceCase *row, DType dtype) {
    print_member("{", "device", spec);
    print_member(", ", "operator", row->operator_name);
    print_member(", ", "attributes", row->attributes);
    print_member(", ", "inputs", row->inputs);
    print_member(", ", "dtype", dtype_name(dtype));
}

static void report(const ConformanceFailure *failure, void *context) {
    const Options *options = context;
    if (options->json) {
        print_case(failure->on->spec, failure->row, failure->dtype);
        print_member(", ", "check", failure->check->name);
        print_member(", ", "shapes", failure->inputs);
        print_member(", ", "failure", failure->message);
        printf(", \"file\": \"%s\", \"line\": %d}\n", case_table_file(failure->row),
            failure->row->line);
        return;
    }
    TextBuilder OWN_TEXT(text) = {0};
    conformance_failure_print(failure, &text);
    printf("%s\n", text_builder_get(&text));
}

static void print_tally(
    const Options *options, const char *spec, const char *check, const ConformanceTally *tally) {
    if (!options->json) {
        printf("%-20s %-10s %6u passed %6u failed %6u unsupported\n", spec, check, tally->passed,
            tally->failed, tally->unsupported);
        return;
    }
    print_member("{", "device", spec);
    print_member(", ", "check", check);
    printf(", \"passed\": %u, \"failed\": %u, \"unsupported\": %u}\n", tally->passed, tally->failed,
        tally->unsupported);
}

static Error *run_test(const Options *options, const ConformanceDevice *on, void *context) {
    ConformanceTally *total = context;
    for (uint32_t i = 0; i < conformance_check_count; i++) {
        const ConformanceCheckInfo *check = &conformance_checks[i];
        if (options->check && options->check != check) continue;
        ConformanceTally tally = {0};
        conformance_suite_run(on, check, options->operator_name, report, (void *)options, &tally);
        print_tally(options, on->spec, check->name, &tally);
        total->passed += tally.passed;
        total->failed += tally.failed;
        total->unsupported += tally.unsupported;
    }
    return NULL;
}

static void print_time(const Options *options, const ConformanceDevice *on,
    const ConformanceCase *row, DType dtype, const ConformanceTime *time) {
    uint64_t ns = time->min_ns ? time->min_ns : 1;
    double bandwidth = (double)time->bytes / (double)ns;
    double rate = (double)time->operations / (double)ns;
    if (options->json) {
        print_case(on->spec, row, dtype);
        print_member(", ", "kernel", time->kernel_name);
        printf(", \"ns\": %llu, \"repetitions\": %u, \"gb_per_s\": %.3f, \"gflop_per_s\": %.3f}\n",
            (unsigned long long)time->min_ns, time->repetitions, bandwidth, rate);
        return;
    }
    printf("%-14s %-18s %-9s %12llu ns %9.3f GB/s ", on->spec, row->operator_name,
        dtype_name(dtype), (unsigned long long)time->min_ns, bandwidth);
    if (time->operations)
        printf("%9.3f GFLOP/s", rate);
    else
        printf("%9s        ", "-");
    printf("  %s  %s %s\n", time->kernel_name, row->inputs, row->attributes);
}

static void bench_one(const Options *options, const ConformanceDevice *on,
    const ConformanceCase *row, DType dtype, ConformanceTally *total) {
    ConformanceTime time;
    Error *error = conformance_bench(on, row, dtype, options->threads, &time);
    if (!error) {
        total->passed++;
        if (!time.view) print_time(options, on, row, dtype, &time);
        return;
    }
    bool listed = error_code(error) == ERROR_UNSUPPORTED &&
                  conformance_suite_reason(on, row->operator_name, dtype);
    total->unsupported += listed;
    total->failed += !listed;
    ConformanceCheckInfo bench = {.name = "bench"};
    ConformanceFailure failure = {on, &bench, row, dtype, row->inputs, error_message(error)};
    if (!listed) report(&failure, (void *)options);
    error_free(error);
}

static Error *run_bench(const Options *options, const ConformanceDevice *on, void *context) {
    for (uint32_t i = 0; i < case_table_count; i++) {
        const ConformanceCase *row = &case_table[i];
        if (options->operator_name && strcmp(options->operator_name, row->operator_name) != 0)
            continue;
        if (options->large && row->reference) continue; /* small ones have one */
        DTypeSet dtypes = case_table_dtypes(row);
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (dtypes >> dtype & 1) bench_one(options, on, row, (DType)dtype, context);
    }
    return NULL;
}

static void print_support(
    const char *spec, const OperatorInfo *info, DType dtype, const ConformanceSupport *support) {
    print_member("{", "device", spec);
    print_member(", ", "operator", info->name);
    print_member(", ", "dtype", dtype_name(dtype));
    print_member(", ", "served", conformance_support_letters(support->served[dtype]));
    printf(", \"kernels\": [");
    for (uint32_t i = 0; i < support->kernel_count[dtype]; i++) {
        printf("%s", i ? ", " : "");
        print_text(support->kernels[dtype][i]);
    }
    printf("]}\n");
}

static Error *run_support(const Options *options, const ConformanceDevice *on, void *context) {
    (void)context;
    if (!options->json) {
        TextBuilder OWN_TEXT(text) = {0};
        conformance_support_print(on->device, options->operator_name, &text);
        TRY(text_builder_check(&text));
        printf("%s\n\n%s\n", on->spec, text_builder_get(&text));
        return NULL;
    }
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        if (options->operator_name && strcmp(options->operator_name, info->name) != 0) continue;
        ConformanceSupport support;
        conformance_support_ask(on->device, info, &support);
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (support.served[dtype]) print_support(on->spec, info, (DType)dtype, &support);
    }
    return NULL;
}

static const struct {
    const char *name;
    Error *(*run)(const Options *options, const ConformanceDevice *on, void *context);
    bool counts; /* ends with the line of passed, failed and unsupported */
} modes[] = {{"test", run_test, true}, {"bench", run_bench, true}, {"support", run_support, false}};

static Error *read_option(int letter, Options *options) {
    int64_t threads;
    switch (letter) {
    case 'd':
        if (options->device_count == DEVICES_MAX) FAIL(USAGE, "more than %d devices", DEVICES_MAX);
        options->devices[options->device_count++] = optarg;
        return NULL;
    case 'm':
        options->mode = optarg;
        return NULL;
    case 'o':
        if (!operator_find(optarg)) FAIL(USAGE, "no operator \"%s\"", optarg);
        options->operator_name = optarg;
        return NULL;
    case 'c':
        options->check = conformance_check_find(optarg);
        if (!options->check) FAIL(USAGE, "no check \"%s\"", optarg);
        return NULL;
    case 't':
        if (!text_parse_i64(optarg, &threads) || threads < 1 || threads > THREADS_MAX)
            FAIL(USAGE, "--threads takes 1 to %d", THREADS_MAX);
        options->threads = (uint32_t)threads;
        return NULL;
    case 'l':
        options->large = true;
        return NULL;
    case 'j':
        options->json = true;
        return NULL;
    default:
        FAIL(USAGE, "unknown option or missing value; see --help");
    }
}

static Error *read_options(int argc, char **argv, Options *out, bool *out_help) {
    static const struct option known[] = {
        {"device", required_argument, NULL, 'd'},
        {"mode", required_argument, NULL, 'm'},
        {"operator", required_argument, NULL, 'o'},
        {"check", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 't'},
        {"large", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        *out_help = letter == 'h';
        if (*out_help) return NULL;
        TRY(read_option(letter, out));
    }
    if (optind < argc) FAIL(USAGE, "\"%s\" is no option", argv[optind]);
    static const char *const always_there[] = {"cpu", "sim:0", "sim:0,lacks=*"};
    if (out->device_count > 0) return NULL;
    memcpy(out->devices, always_there, sizeof always_there);
    out->device_count = sizeof always_there / sizeof always_there[0];
    return NULL;
}

static Error *run(const Options *options, ConformanceTally *total) {
    size_t mode = 0;
    while (mode < sizeof modes / sizeof modes[0] && strcmp(modes[mode].name, options->mode) != 0)
        mode++;
    if (mode == sizeof modes / sizeof modes[0])
        FAIL(USAGE, "--mode takes test, bench or support, not \"%s\"", options->mode);
    for (uint32_t i = 0; i < options->device_count; i++) {
        ConformanceDevice on;
        TRY(conformance_device_open(options->devices[i], &on));
        Error *error = modes[mode].run(options, &on, total);
        conformance_device_deinit(&on);
        TRY(error);
    }
    if (modes[mode].counts && options->json)
        printf("{\"passed\": %u, \"failed\": %u, \"unsupported\": %u}\n", total->passed,
            total->failed, total->unsupported);
    else if (modes[mode].counts)
        printf("%u passed, %u failed, %u unsupported\n", total->passed, total->failed,
            total->unsupported);
    return NULL;
}

int main(int argc, char **argv) {
    Options options = {.mode = "test", .threads = 1};
    ConformanceTally total = {0};
    bool help = false;
    Error *error = read_options(argc, argv, &options, &help);
    if (help) {
        print_usage(stdout);
        return 0;
    }
    if (!error) error = run(&options, &total);
    if (error) {
        int code = error_code(error) == ERROR_USAGE ? USAGE_CODE : EXIT_FAILURE;
        (void)fprintf(stderr, "layover-conformance: %s\n", error_message(error));
        error_free(error);
        return code;
    }
    return total.failed > 0;
}
