/* layover-resume-check [--device SPEC] [--points K] [--model NAME] FOLDER: every case of every
 * model in a folder, stopped at up to K points of its run and taken up from there: from cpu to the
 * device, from the device to cpu, from the device to itself. The exit code is 1 when something
 * fails. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "tests/conformance/resume_check.h"

enum { CASES_MAX = 256, NAME_SIZE = 256, POINTS_DEFAULT = 12, USAGE_CODE = 2 };

static const char usage[] =
    "layover-resume-check [--device SPEC] [--points K] [--model NAME] FOLDER\n"
    "  --device  default sim:0\n"
    "  --points  of a run, at which it is stopped (default 12)\n"
    "  --model   this one alone\n"
    "  FOLDER    holds MODEL.lvx, MODEL.CASE.npz and MODEL.CASE.expected.npz\n";

typedef struct Options {
    const char *spec, *model, *folder;
    uint64_t points;
} Options;

typedef struct Tally {
    uint32_t passed, failed;
} Tally;

typedef struct Names {
    char items[CASES_MAX][NAME_SIZE];
    uint32_t count;
} Names;

static void count(Tally *tally, const char *what, Error *owned_error) {
    tally->passed += owned_error == NULL;
    tally->failed += owned_error != NULL;
    if (owned_error) printf("failed: %s: %s\n", what, error_message(owned_error));
    error_free(owned_error);
}

/* Points are spread evenly, the first and the last instruction among them. */
static void cross(const Options *options, const ResumeModel *model, const ResumePlace *from,
    const ResumePlace *to, const char *way, Tally *total) {
    char what[2 * NAME_SIZE];
    uint64_t stops =
        from->instructions - 1; /* behind the last one there is nothing to go on with */
    uint64_t points = stops < options->points ? stops : options->points;
    Tally tally = {0};
    for (uint64_t i = 0; i < points; i++) {
        uint64_t stop_after = points == 1 ? 1 : 1 + i * (stops - 1) / (points - 1);
        (void)snprintf(what, sizeof what, "%s %s, stopped after %llu of %llu instructions", way,
            model->name, (unsigned long long)stop_after, (unsigned long long)from->instructions);
        count(&tally, what, resume_check(model, from, to, stop_after));
    }
    printf("%-20s %-24s %5u passed %5u failed\n", way, model->name, tally.passed, tally.failed);
    total->passed += tally.passed;
    total->failed += tally.failed;
}

static void cross_both(const Options *options, const ResumeModel *model, const ResumePlace *host,
    const ResumePlace *device, Tally *total) {
    char way[NAME_SIZE];
    (void)snprintf(way, sizeof way, "%s->%s", options->spec, options->spec);
    cross(options, model, device, device, way, total);
    if (strcmp(options->spec, "cpu") == 0) return;
    (void)snprintf(way, sizeof way, "cpu->%s", options->spec);
    cross(options, model, host, device, way, total);
    (void)snprintf(way, sizeof way, "%s->cpu", options->spec);
    cross(options, model, device, host, way, total);
}

static Error *check_case(
    const Options *options, const char *name, Device *host, Device *device, Tally *total) {
    ResumeModel model;
    ResumePlace at_host, at_device;
    TRY(resume_model_open(options->folder, name, &model));
    Error *error = resume_place_open(&model, host, host, &at_host);
    if (!error) {
        error = resume_place_open(&model, host, device, &at_device);
        if (!error) {
            cross_both(options, &model, &at_host, &at_device, total);
            resume_place_deinit(&at_device);
        }
        resume_place_deinit(&at_host);
    }
    resume_model_deinit(&model);
    return error;
}

static int compare_names(const void *left, const void *right) { return strcmp(left, right); }

static Error *add_name(const Options *options, const char *file, Names *names) {
    size_t size = strlen(file);
    if (!text_ends_with(file, ".npz") || text_ends_with(file, ".expected.npz")) return NULL;
    size_t model_size = strcspn(file, ".");
    bool wanted = !options->model || (strlen(options->model) == model_size &&
                                         memcmp(options->model, file, model_size) == 0);
    if (!wanted) return NULL;
    if (names->count == CASES_MAX || size >= NAME_SIZE)
        FAIL(INVALID, "%s: more than %d cases, or too long a name", file, CASES_MAX);
    (void)snprintf(
        names->items[names->count++], NAME_SIZE, "%.*s", (int)(size - strlen(".npz")), file);
    return NULL;
}

static Error *list_cases(const Options *options, Names *out) {
    DIR *folder = opendir(options->folder);
    if (!folder) FAIL(NOT_FOUND, "%s: %s", options->folder, strerror(errno));
    Error *error = NULL;
    for (struct dirent *entry; !error && (entry = readdir(folder));)
        error = add_name(options, entry->d_name, out);
    (void)closedir(folder);
    TRY(error);
    if (out->count == 0) FAIL(NOT_FOUND, "%s holds no cases", options->folder);
    qsort(out->items, out->count, NAME_SIZE, compare_names);
    return NULL;
}

static Error *run(const Options *options, Tally *total) {
    static Names names;
    OWN(Device, host) = NULL;
    OWN(Device, device) = NULL;
    TRY(list_cases(options, &names));
    TRY(device_open("cpu", &host));
    TRY(device_open(options->spec, &device));
    for (uint32_t i = 0; i < names.count; i++) {
        Error *error = check_case(options, names.items[i], host, device, total);
        if (error) count(total, names.items[i], error);
    }
    printf("%u passed, %u failed\n", total->passed, total->failed);
    return NULL;
}

static Error *read_options(int argc, char **argv, Options *out, bool *out_help) {
    static const struct option known[] = {
        {"device", required_argument, NULL, 'd'},
        {"points", required_argument, NULL, 'p'},
        {"model", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        *out_help = letter == 'h';
        if (*out_help) return NULL;
        if (letter == 'd')
            out->spec = optarg;
        else if (letter == 'm')
            out->model = optarg;
        else if (letter != 'p')
            FAIL(USAGE, "unknown option or missing value; see --help");
        else if (!text_parse_u64(optarg, &out->points) || out->points == 0)
            FAIL(USAGE, "--points takes a number from 1 on");
    }
    if (optind + 1 != argc) FAIL(USAGE, "one folder is named; see --help");
    out->folder = argv[optind];
    return NULL;
}

int main(int argc, char **argv) {
    Options options = {.spec = "sim:0", .points = POINTS_DEFAULT};
    Tally total = {0};
    bool help = false;
    Error *error = read_options(argc, argv, &options, &help);
    if (help) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (!error) error = run(&options, &total);
    if (error) {
        int code = error_code(error) == ERROR_USAGE ? USAGE_CODE : EXIT_FAILURE;
        (void)fprintf(stderr, "layover-resume-check: %s\n", error_message(error));
        error_free(error);
        return code;
    }
    return total.failed > 0;
}
