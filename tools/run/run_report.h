#pragma once
/* Runs to the end or to a suspension, and prints the answer of the verbs run and resume. Callers:
 * command_run.c, command_resume.c, remote_run.c. Threads: the main thread. */
#include "tools/client/native_options.h"
#include "tools/client/output_show.h"
#include "tools/run/run_machine.h"

/* Options that the verbs run and resume share. */
#define RUN_SHARED_OPTIONS                                                                         \
    OUTPUT_OPTION, {"device", "D[,OPTION=VALUE...]", false, "cpu (default), sim:N, cuda:N"},       \
        {"threads", "N", false, "threads a kernel may use; never changes the bits (default 1)"},   \
        {"suspend-after", "N", false, "suspends after N instructions; needs --checkpoint"},        \
        {"suspend-after-ms", "T", false, "suspends after T milliseconds; needs --checkpoint"},     \
        {"checkpoint", "FILE.lvc", false, "where a suspended execution goes"},                     \
        {"stats", NULL, false, "prints counts, copies, waits, time and memory"},                   \
        {"profile", NULL, false, "prints the time of every operator"},                             \
        {"check-finite", NULL, false, "fails at the first result that is not finite"},             \
        {"packed", "LIB.so", true, "a trusted library that registers packed functions"},           \
        {"native", NULL, false, "the model's own native code may run (trusted code)"},             \
        NATIVE_PRELOAD_OPTION

/* The answer of the verbs run and resume, whether the run was here or a daemon's job. */
typedef struct RunReport {
    bool suspended;
    int64_t instructions, kernel_calls, peak_bytes;
    uint64_t checkpoint_bytes;
    double seconds;
    ExecutionTraffic traffic; /* means nothing if instructions is -1 */
    const ArrayList *outputs; /* to be printed; NULL: a file has them, or the run was suspended */
} RunReport;
MUST_CHECK Error *run_report_print(const CommandContext *context, const RunReport *report);

/* Checks the options before anything is opened, and that the named files can be written.
 * Errors: USAGE; IO. */
MUST_CHECK Error *run_options_check(const CommandContext *context);
/* Runs machine->execution; writes outputs or a checkpoint; prints the answer; sets the exit code.
 */
MUST_CHECK Error *run_to_end(CommandContext *context, RunMachine *machine);
