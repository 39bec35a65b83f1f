/* relax_fixtures DIR... [--flips N] [--truncations N]: judges folders of fixtures: NAME.bin, a file
 * of the Relax VM; NAME.txt, what TVM prints of it; NAME.json, calls and their results. Each file
 * is read, written back, printed, translated, taken through an executable file, and every call is
 * made straight and suspended at every instruction. --flips and --truncations damage each file so
 * often. Ends with 1 if anything is wrong. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "serialize/container/executable_file.h"
#include "serialize/relax/relax_text.h"
#include "serialize/relax/relax_translate.h"
#include "tests/relax/fixture_functions.h"
#include "tests/relax/fixture_mutations.h"
#include "tests/relax/fixture_run.h"

enum { FILE_MAX = 1 << 28, NAMES_MAX = 4096, NAME_MAX_BYTES = 128 };

typedef struct Judge {
    PackedRegistry *registry;
    uint64_t flips, truncations;
    uint64_t fixtures, failures, calls, suspensions;
    MutationCounts mutations;
} Judge;

typedef struct Fixture {
    char stem[1024];
    uint8_t *data;
    size_t size;
    json_object *json;
    json_object *calls; /* in json */
} Fixture;

static Error *read_part(
    const Fixture *fixture, const char *ending, uint8_t **out_data, size_t *out_size) {
    char path[1100];
    (void)snprintf(path, sizeof path, "%s.%s", fixture->stem, ending);
    return file_read(path, FILE_MAX, out_data, out_size);
}

static Error *compare_bytes(
    const char *what, const void *got, size_t size, const void *wanted, size_t wanted_size) {
    size_t at = 0;
    const uint8_t *a = got, *b = wanted;
    while (at < size && at < wanted_size && a[at] == b[at]) at++;
    if (at == size && at == wanted_size) return NULL;
    FAIL(FAILED, "%s: %zu bytes, not %zu; the first difference is at byte %zu", what, size,
        wanted_size, at);
}

/* as_text, and where the file goes on, as_python, and stats, which fails in TVM where a constant is
 * a float. */
static Error *judge_text(const Fixture *fixture, const RelaxFile *file) {
    static const char raised[] = "stats() raised";
    uint8_t *data;
    size_t size;
    TextBuilder OWN_TEXT(text) = {0};
    TRY(relax_text_print(file, &text));
    TRY(read_part(fixture, "txt", &data, &size));
    if (size > text.size) text_append(&text, "\n# as_python\n");
    if (size > text.size) TRY(relax_text_print_python(file, &text));
    if (size > text.size) text_append(&text, "\n# stats\n");
    const size_t before = text.size;
    const bool no_stats =
        size > before + strlen(raised) && memcmp(data + before, raised, strlen(raised)) == 0;
    if (size > before && !no_stats) TRY(relax_text_print_stats(file, &text));
    Error *error =
        compare_bytes("text", text_builder_get(&text), text.size, data, no_stats ? before : size);
    memory_unmap(data, size);
    return error;
}

static Error *judge_back(const char *what, const Fixture *fixture, const Executable *executable) {
    ByteWriter OWN_BYTES(bytes) = {0};
    TRY_WRAP(relax_translate_back(executable, &bytes), "%s", what);
    return compare_bytes(what, bytes.data, bytes.size, fixture->data, fixture->size);
}

static Error *write_and_read(Executable *executable, Executable **out) {
    char path[64]; /* several processes may run in one folder */
    (void)snprintf(path, sizeof path, "relax_fixture_%ld.lvx", (long)getpid());
    TRY(executable_write_file(executable, NULL, path));
    Error *error = executable_read_file(path, NULL, out);
    (void)remove(path);
    return error;
}

static Error *judge_calls(Judge *judge, const Fixture *fixture, Executable *executable) {
    FixtureMachine machine;
    Error *error = fixture_machine_init(&machine, executable, judge->registry);
    for (size_t i = 0; !error && i < json_object_array_length(fixture->calls); i++) {
        json_object *call = json_object_array_get_idx(fixture->calls, i);
        error = error_wrap(fixture_call(&machine, call, 0, &judge->suspensions), "call %zu", i);
        if (!error)
            error = error_wrap(
                fixture_call(&machine, call, 1, &judge->suspensions), "call %zu, suspended", i);
        judge->calls++;
    }
    fixture_machine_deinit(&machine);
    return error;
}

static Error *judge_fixture(Judge *judge, const Fixture *fixture) {
    OWN(RelaxFile, file) = NULL;
    OWN(Executable, executable) = NULL;
    OWN(Executable, again) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    TRY(relax_file_read(fixture->data, fixture->size, false, &file));
    TRY(relax_file_write(file, false, &bytes));
    TRY(compare_bytes("written", bytes.data, bytes.size, fixture->data, fixture->size));
    TRY(judge_text(fixture, file));
    TRY(relax_translate(file, NULL, &executable));
    TRY(judge_back("translated back", fixture, executable));
    TRY(write_and_read(executable, &again));
    TRY(judge_back("translated back from a file", fixture, again));
    TRY(judge_calls(judge, fixture, again));
    return fixture_mutate(fixture->data, fixture->size, fixture->calls, judge->registry,
        judge->flips, judge->truncations, &judge->mutations);
}

static Error *load(Fixture *fixture) {
    uint8_t *text;
    size_t size;
    TRY(read_part(fixture, "bin", &fixture->data, &fixture->size));
    TRY(read_part(fixture, "json", &text, &size));
    json_tokener *tokener = json_tokener_new();
    fixture->json = json_tokener_parse_ex(tokener, (const char *)text, (int)size);
    json_tokener_free(tokener);
    memory_unmap(text, size);
    if (!json_object_object_get_ex(fixture->json, "calls", &fixture->calls))
        FAIL(CORRUPT, "%s.json has no calls", fixture->stem);
    return NULL;
}

static void judge_stem(Judge *judge, const char *folder, const char *name) {
    Fixture fixture = {0};
    (void)snprintf(fixture.stem, sizeof fixture.stem, "%s/%s", folder, name);
    Error *error = load(&fixture);
    if (!error) error = judge_fixture(judge, &fixture);
    judge->fixtures++;
    if (error) {
        judge->failures++;
        printf("%s: %s\n", fixture.stem, error_message(error));
        error_free(error); /* told */
    }
    json_object_put(fixture.json);
    memory_unmap(fixture.data, fixture.size);
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static bool judge_folder(Judge *judge, const char *folder) {
    static char names[NAMES_MAX][NAME_MAX_BYTES];
    size_t count = 0;
    DIR *entries = opendir(folder);
    if (!entries) return false;
    for (struct dirent *entry; count < NAMES_MAX && (entry = readdir(entries));) {
        const size_t length = strlen(entry->d_name);
        if (length < 5 || length >= NAME_MAX_BYTES ||
            strcmp(entry->d_name + length - 4, ".bin") != 0)
            continue;
        (void)snprintf(names[count++], NAME_MAX_BYTES, "%.*s", (int)length - 4, entry->d_name);
    }
    (void)closedir(entries);
    qsort(names, count, NAME_MAX_BYTES, compare_names);
    for (size_t i = 0; i < count; i++) judge_stem(judge, folder, names[i]);
    return count > 0;
}

int main(int argc, char **argv) {
    Judge judge = {0};
    bool found = argc > 1;
    Error *error = fixture_registry_create(&judge.registry);
    if (error) return 2;
    for (int i = 1; i < argc; i++) {
        const bool flips = strcmp(argv[i], "--flips") == 0;
        if (flips || strcmp(argv[i], "--truncations") == 0) {
            uint64_t *to = flips ? &judge.flips : &judge.truncations;
            found = found && i + 1 < argc && text_parse_u64(argv[++i], to);
        }
    }
    for (int i = 1; found && i < argc; i++) {
        if (argv[i][0] == '-')
            i++;
        else
            found = judge_folder(&judge, argv[i]);
    }
    packed_registry_release(judge.registry);
    if (!found) {
        (void)fprintf(stderr, "relax_fixtures DIR... [--flips N] [--truncations N]\n");
        return 2;
    }
    printf("%llu fixtures, %llu failures, %llu calls, %llu suspensions; damaged files: %llu "
           "refused, %llu accepted\n",
        (unsigned long long)judge.fixtures, (unsigned long long)judge.failures,
        (unsigned long long)judge.calls, (unsigned long long)judge.suspensions,
        (unsigned long long)judge.mutations.refused, (unsigned long long)judge.mutations.accepted);
    return judge.failures > 0;
}
