#include "tools/run/run_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/jobs_api.h"
#include "tools/client/progress.h"
#include "tools/run/run_profile.h"
#include "tools/run/run_signals.h"

typedef struct RunOutcome {
    bool suspended;
    double seconds;
    uint64_t checkpoint_bytes;
} RunOutcome;

/* Checks before the run whether the file can be written. */
static Error *check_writable(const CommandContext *context, const char *option) {
    OWN(FileOutput, probe) = NULL;
    const char *path =
        strcmp(option, "output") == 0 ? output_file(context) : command_option(context, option);
    return path ? file_output_create(path, &probe) : NULL;
}

Error *run_options_check(const CommandContext *context) {
    int64_t ignored;
    bool suspends =
        command_flag(context, "suspend-after") || command_flag(context, "suspend-after-ms");
    if (suspends && !command_flag(context, "checkpoint"))
        FAIL(USAGE, "%s: --suspend-after needs --checkpoint FILE", context->command->verb);
    TRY(command_integer(context, "suspend-after", 1, INT64_MAX, 1, &ignored));
    TRY(command_integer(context, "suspend-after-ms", 0, INT32_MAX, 0, &ignored));
    TRY(command_integer(context, "threads", 1, WORKER_POOL_THREADS_MAX, 1, &ignored));
    TRY(check_writable(context, "output"));
    return check_writable(context, "checkpoint");
}

/* Handles a stop: one that the run asked for, or a signal. */
static Error *handle_stop(RunMachine *machine, uint64_t instructions_end, bool *out_suspended) {
    *out_suspended = false;
    RunSignal signal = run_signals_take();
    if (signal == RUN_SIGNAL_PAUSE) {
        TRY(run_machine_pause(machine));
        run_signals_watch(machine->execution);
        return NULL;
    }
    uint64_t done = execution_get_counters(machine->execution).instructions;
    *out_suspended = signal == RUN_SIGNAL_SUSPEND || done >= instructions_end;
    return NULL;
}

/* Runs until the next stop. *out_ended: the execution finished or must be suspended. */
static Error *run_stretch(
    RunMachine *machine, uint64_t instructions_end, bool *out_ended, bool *out_suspended) {
    RunResult result;
    Budget budget = {0};
    uint64_t done = execution_get_counters(machine->execution).instructions;
    if (instructions_end != UINT64_MAX) budget.instructions = instructions_end - done;
    *out_ended = *out_suspended = false;
    TRY(execution_run(machine->execution, budget, &result));
    switch (result.kind) {
    case RUN_FINISHED:
        *out_ended = true;
        break;
    case RUN_SUSPENDED:
        TRY(handle_stop(machine, instructions_end, out_suspended));
        *out_ended = *out_suspended;
        break;
    case RUN_SLICE_ENDED:
        break;
    case RUN_NEEDS_MEMORY:
        FAIL(EXHAUSTED, "%" PRIu64 " bytes are not free on %s", result.bytes,
            machine->residency->devices[result.slot]->name);
    case RUN_BLOCKED:
        FAIL(EXHAUSTED, "more than %u yielded values, and nobody takes them",
            machine->options.yield_limit);
    }
    return NULL;
}

static Error *run_all(const CommandContext *context, RunMachine *machine, RunOutcome *outcome) {
    int64_t after = 0, after_ms = 0;
    uint64_t start_ns = clock_now_ns(clock_real()), instructions_end = UINT64_MAX;
    bool ended = false;
    TRY(command_integer(context, "suspend-after", 1, INT64_MAX, 0, &after));
    TRY(command_integer(context, "suspend-after-ms", 0, INT32_MAX, 0, &after_ms));
    if (after)
        instructions_end =
            execution_get_counters(machine->execution).instructions + (uint64_t)after;
    TRY(run_signals_install());
    run_signals_watch(machine->execution);
    if (command_flag(context, "suspend-after-ms")) {
        /* 0 ms: suspended before the first instruction */
        ended = outcome->suspended = after_ms == 0;
        TRY(run_signals_set_timer(after_ms));
    }
    while (!ended) TRY(run_stretch(machine, instructions_end, &ended, &outcome->suspended));
    TRY(run_signals_set_timer(0));
    outcome->seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    return NULL;
}

static void print_stats(const RunReport *report) {
    const ExecutionTraffic *traffic = &report->traffic;
    printf("%" PRId64 " instructions, %" PRId64 " kernel calls, %.6f s, peak %.1f MB, "
           "checkpoint %.1f MB\n",
        report->instructions, report->kernel_calls, report->seconds,
        (double)report->peak_bytes / 1e6, (double)report->checkpoint_bytes / 1e6);
    if (report->instructions < 0) return;
    printf("copies to the host: %" PRIu64 " (%" PRIu64 " bytes), to the device: %" PRIu64
           " (%" PRIu64 " bytes); waits for the device: %" PRIu64 "\n",
        traffic->copies_to_host, traffic->bytes_to_host, traffic->copies_to_device,
        traffic->bytes_to_device, traffic->waits);
}

Error *run_report_print(const CommandContext *context, const RunReport *report) {
    const char *state = report->suspended ? "suspended" : "succeeded";
    json_object *object;
    if (!output_is_json(context)) {
        if (report->outputs)
            TRY(output_show(report->outputs));
        else
            printf("%s: %s\n", state,
                command_option(context, report->suspended ? "checkpoint" : "output"));
        if (command_flag(context, "stats")) print_stats(report);
        return NULL;
    }
    TRY(json_fields_create(&object));
    json_fields_text(object, "state", state);
    json_fields_int(object, "instructions", report->instructions);
    json_fields_int(object, "kernel_calls", report->kernel_calls);
    json_fields_real(object, "seconds", report->seconds);
    json_fields_int(object, "peak_bytes", report->peak_bytes);
    json_fields_int(object, "checkpoint_bytes", (int64_t)report->checkpoint_bytes);
    Error *error =
        jobs_api_traffic_json(report->instructions < 0 ? NULL : &report->traffic, object);
    if (error) {
        json_object_put(object);
        return error;
    }
    return output_show_json(context, object, report->outputs);
}

static Error *answer(const CommandContext *context, const RunMachine *machine,
    const RunOutcome *outcome, const ArrayList *outputs) {
    const ExecutionCounters counters = execution_get_counters(machine->execution);
    return run_report_print(context, &(RunReport){.suspended = outcome->suspended,
                                         .instructions = (int64_t)counters.instructions,
                                         .kernel_calls = (int64_t)counters.kernel_calls,
                                         .peak_bytes = (int64_t)run_machine_peak_bytes(machine),
                                         .checkpoint_bytes = outcome->checkpoint_bytes,
                                         .traffic = execution_get_traffic(machine->execution),
                                         .seconds = outcome->seconds,
                                         .outputs = outputs});
}

Error *run_to_end(CommandContext *context, RunMachine *machine) {
    RunOutcome outcome = {0};
    RunProfile OWN_PROFILE(profile) = {0};
    if (command_flag(context, "profile"))
        TRY(run_profile_attach(&profile, machine->execution, machine->options.threads));
    Progress progress = progress_start(context, "running");
    progress_update(&progress, 0, 0);
    Error *error = run_all(context, machine, &outcome);
    progress_end(&progress);
    TRY(error);
    const char *checkpoint = command_option(context, "checkpoint"), *file = output_file(context);
    const ArrayList *earlier = machine->job ? &machine->job->outputs : NULL;
    ArrayList OWN_ARRAYS(outputs) = {0};
    const bool shown = !outcome.suspended && !file;
    if (outcome.suspended && !checkpoint)
        FAIL(INTERRUPTED, "stopped by a signal; --checkpoint FILE would have kept what was done");
    if (outcome.suspended) {
        TRY(run_machine_checkpoint(machine, checkpoint, &outcome.checkpoint_bytes));
        context->exit_code = EXIT_SUSPENDED;
    } else if (file)
        TRY(run_outputs_write(machine->execution, earlier, file));
    else
        TRY(run_outputs_collect(machine->execution, earlier, &outputs));
    run_profile_print(&profile, context);
    return answer(context, machine, &outcome, shown ? &outputs : NULL);
}
