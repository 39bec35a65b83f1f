/* layover-onnx-suite [--device SPEC] [--chained] [--all] [--verbose] FOLDER [CASE ...]: ONNX's
 * backend tests, as make_cases.py writes them, in one process. The exit code is 1 when a case ends
 * otherwise than suite_unsupported.def says. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/registry/device_registry.h"
#include "tests/onnx_suite/suite_run.h"

enum {
    NAME_SIZE = 256,
    PATH_SIZE = 4096,
    NAMES_MAX = 4096, /* cases of one kind */
    USAGE_CODE = 2,
    OPSET_COMPARED = 26, /* the newest one that onnxruntime 1.31 takes without being asked */
};

static const char usage[] =
    "layover-onnx-suite [OPTION ...] FOLDER [CASE ...]\n"
    "  --device SPEC  default cpu\n"
    "  --chained      also one instruction at a time, through the bytes of a checkpoint\n"
    "  --all          failures that suite_unsupported.def names are shown, too\n"
    "  --verbose      each case that passes is named\n"
    "  CASE           names, '*' stands for any characters; default: all\n";

typedef struct Unsupported {
    const char *cases, *reason;
} Unsupported;

static const Unsupported unsupported[] = {
#define UNSUPPORTED(cases, reason) {cases, reason},
#include "tests/onnx_suite/suite_unsupported.def"
#undef UNSUPPORTED
};

typedef struct Options {
    const char *spec, *folder;
    char **cases;
    int case_count;
    bool chained, all, verbose;
} Options;

typedef struct Tally {
    uint32_t passed, compared, compared_passed, excused, wrong;
} Tally;

typedef struct Names {
    char (*items)[NAME_SIZE];
    uint32_t count;
} Names;

static const Unsupported *find_unsupported(const char *name) {
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (fnmatch(unsupported[i].cases, name, 0) == 0) return &unsupported[i];
    return NULL;
}

static bool is_wanted(const Options *options, const char *name) {
    for (int i = 0; i < options->case_count; i++)
        if (fnmatch(options->cases[i], name, 0) == 0) return true;
    return options->case_count == 0;
}

static void tell_failure(
    const Options *options, const char *name, const Unsupported *row, const Error *error) {
    if (!row)
        printf("failed: %s: %s\n", name, error_message(error));
    else if (options->all)
        printf("unsupported: %s: %s (%s)\n", name, error_message(error), row->reason);
}

static void judge(
    const Options *options, const char *name, int64_t opset, Error *owned_error, Tally *tally) {
    const Unsupported *row = find_unsupported(name);
    bool passed = owned_error == NULL, compared = opset > 0 && opset <= OPSET_COMPARED;
    tally->passed += passed;
    tally->compared += compared;
    tally->compared_passed += compared && passed;
    tally->excused += !passed && row;
    tally->wrong += passed == (row != NULL);
    if (passed && row)
        printf("failed: %s passes, but suite_unsupported.def says: %s\n", name, row->reason);
    else if (!passed)
        tell_failure(options, name, row, owned_error);
    else if (options->verbose)
        printf("passed: %s\n", name);
    error_free(owned_error);
}

static void run_case(const Options *options, const SuiteMachine *machine, const char *kind,
    const char *name, Tally *tally) {
    char path[PATH_SIZE];
    SuiteCase suite_case = {0};
    (void)snprintf(path, sizeof path, "%s/%s/%s", options->folder, kind, name);
    Error *error = suite_case_open(path, &suite_case);
    if (!error) error = suite_run(machine, &suite_case);
    judge(options, name, suite_case.opset, error, tally);
    suite_case_deinit(&suite_case);
}

static int compare_names(const void *left, const void *right) { return strcmp(left, right); }

static Error *list_folder(const char *path, Names *names) {
    DIR *folder = opendir(path);
    if (!folder) FAIL(NOT_FOUND, "%s: %s", path, strerror(errno));
    names->count = 0;
    for (struct dirent *entry; names->count < NAMES_MAX && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            (void)snprintf(names->items[names->count++], NAME_SIZE, "%s", entry->d_name);
    (void)closedir(folder);
    if (names->count == 0 || names->count == NAMES_MAX)
        FAIL(INVALID, "%s holds none or too many cases", path);
    qsort(names->items, names->count, NAME_SIZE, compare_names);
    return NULL;
}

static Error *run_kind(const Options *options, const SuiteMachine *machine, const char *kind,
    Names *names, uint32_t *inout_wrong) {
    char path[PATH_SIZE];
    Tally tally = {0};
    uint32_t ran = 0;
    (void)snprintf(path, sizeof path, "%s/%s", options->folder, kind);
    TRY(list_folder(path, names));
    for (uint32_t i = 0; i < names->count; i++)
        if (is_wanted(options, names->items[i])) {
            run_case(options, machine, kind, names->items[i], &tally);
            ran++;
        }
    if (ran > 0)
        printf("%-18s %4u of %4u passed; up to opset %d %4u of %4u; %u not supported; %u not as "
               "suite_unsupported.def says\n",
            kind, tally.passed, ran, OPSET_COMPARED, tally.compared_passed, tally.compared,
            tally.excused, tally.wrong);
    *inout_wrong += tally.wrong;
    return NULL;
}

static Error *run_kinds(const Options *options, const SuiteMachine *machine, uint32_t *out_wrong) {
    static const char *const kinds[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
    Names names = {0};
    *out_wrong = 0;
    names.items = calloc(NAMES_MAX, NAME_SIZE);
    if (!names.items) FAIL(EXHAUSTED, "no memory for names");
    Error *error = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !error; i++)
        error = run_kind(options, machine, kinds[i], &names, out_wrong);
    free(names.items);
    return error;
}

static Error *run(const Options *options, uint32_t *out_wrong) {
    OWN(WorkerPool, pool) = NULL;
    OWN(Device, host) = NULL;
    OWN(Device, device) = NULL;
    TRY(worker_pool_create("suite", 1, &pool));
    TRY(device_open("cpu", &host));
    TRY(device_open(options->spec, &device));
    bool same = strcmp(options->spec, "cpu") == 0;
    SuiteMachine machine = {host, same ? host : device, pool, options->chained};
    return run_kinds(options, &machine, out_wrong);
}

static bool read_options(int count, char **words, Options *out) {
    static const struct option names[] = {{"device", required_argument, NULL, 'd'},
        {"chained", no_argument, NULL, 'c'}, {"all", no_argument, NULL, 'a'},
        {"verbose", no_argument, NULL, 'v'}, {"help", no_argument, NULL, 'h'}, {0}};
    *out = (Options){.spec = "cpu"};
    for (int option; (option = getopt_long(count, words, "", names, NULL)) != -1;) {
        if (option == 'd')
            out->spec = optarg;
        else if (option == 'c')
            out->chained = true;
        else if (option == 'a')
            out->all = true;
        else if (option == 'v')
            out->verbose = true;
        else
            return false;
    }
    if (optind == count) return false;
    out->folder = words[optind++];
    out->cases = words + optind;
    out->case_count = count - optind;
    return true;
}

int main(int count, char **words) {
    Options options;
    uint32_t wrong = 0;
    if (!read_options(count, words, &options)) {
        (void)fputs(usage, stderr);
        return USAGE_CODE;
    }
    Error *error = run(&options, &wrong);
    if (error) fprintf(stderr, "layover-onnx-suite: %s\n", error_message(error));
    bool failed = error || wrong > 0;
    error_free(error);
    return failed ? 1 : 0;
}
