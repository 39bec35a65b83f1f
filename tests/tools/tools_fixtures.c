#include "tests/tools/tools_fixtures.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/registry/device_registry.h"
#include "vm/assembly/assembly.h"

enum { WORDS_MAX = 32 };

CommandContext *command_context_make(const char *const *words) {
    char *argv[WORDS_MAX] = {(char *)"layover"};
    CommandWanted wanted = COMMAND_WANTED_HELP;
    int argc = 1;
    CommandContext *context = calloc(1, sizeof *context);
    assert_non_null(context);
    for (; words[argc - 1]; argc++) {
        assert_true(argc < WORDS_MAX);
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    assert_ok(command_line_parse(argc, argv, context, &wanted));
    assert_int_equal(wanted, COMMAND_WANTED_RUN);
    return context;
}

void tools_run_open(const char *assembly, ToolsRun *out) {
    *out = (ToolsRun){0};
    assert_ok(assembly_parse(assembly, strlen(assembly), &out->executable));
    assert_ok(worker_pool_create("test", 1, &out->pool));
    assert_ok(device_open("cpu", &out->device));
    assert_ok(
        residency_create(out->executable, out->device, out->device, out->pool, &out->residency));
    assert_ok(packed_registry_create(&out->options.packed));
}

void tools_run_close(ToolsRun *run) {
    residency_release(run->residency);
    packed_registry_release(run->options.packed);
    device_close(run->device);
    worker_pool_release(run->pool);
    executable_release(run->executable);
    *run = (ToolsRun){0};
}

Error *tools_run_function(ToolsRun *run, const char *function, Execution **out_execution) {
    uint32_t index;
    RunResult result;
    TRY(executable_find_function(run->executable, function, &index));
    TRY(execution_create(run->residency, &run->options, index, NULL, 0, out_execution));
    TRY(execution_run(*out_execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    return NULL;
}

void capture_start(Capture *capture, int descriptor) {
    char path[] = "/tmp/layover_capture_XXXXXX";
    (void)fflush(NULL);
    capture->descriptor = descriptor;
    capture->kept = dup(descriptor);
    capture->file = mkstemp(path);
    assert_true(capture->kept >= 0 && capture->file >= 0);
    (void)unlink(path);
    assert_true(dup2(capture->file, descriptor) >= 0);
}

void capture_end(Capture *capture, char *out, size_t size) {
    (void)fflush(NULL);
    (void)dup2(capture->kept, capture->descriptor);
    (void)close(capture->kept);
    ssize_t got = pread(capture->file, out, size - 1, 0);
    (void)close(capture->file);
    assert_true(got >= 0);
    out[got] = 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void tools_remove_tree(const char *path) { (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
