#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/simulate/simulation.h"
#include "tools/client/command.h"

#define LOG_SIZE_MAX ((size_t)64 << 30)

const CommandOption command_simulate_options[] = {
    {"seed", "N", false, "another seed than the scenario's"},
    {"log", "FILE", false, "writes the event log of the run"},
    {"replay", "LOG", false, "takes the decisions of a log again and compares them"},
    {0},
};

/* The result of one run or replay. */
typedef struct Answer {
    SimulationResult result;
    Checker *checker; /* NULL: a replay */
    uint64_t tenant_count;
    double seconds;
    bool replayed;
} Answer;

static void answer_release(Answer *answer) { checker_release(answer->checker); }

static Error *read_scenario(const char *path, Scenario *out_scenario) {
    uint8_t *data;
    size_t size;
    void *text = NULL;
    TRY(file_read(path, SCENARIO_SIZE_MAX, &data, &size));
    Error *error = memory_alloc(size + 1, 1, &text);
    if (!error) {
        if (size) memcpy(text, data, size);
        error = memchr(text, 0, size)
                    ? error_make(ERROR_INVALID, __FILE__, __LINE__, "a NUL byte in JSON")
                    : scenario_parse(text, out_scenario);
    }
    memory_unmap(data, size);
    memory_free(text);
    return error_wrap(error, "%s", path);
}

static Error *simulate(const CommandContext *context, const char *path, Answer *answer) {
    void *memory;
    int64_t seed;
    const char *log_path = command_option(context, "log");
    EventLogWriter log = {0};
    TRY(memory_alloc(1, sizeof(Scenario), &memory));
    Scenario *scenario = memory;
    Error *error = read_scenario(path, scenario);
    if (!error)
        error = command_integer(context, "seed", 0, INT64_MAX, (int64_t)scenario->seed, &seed);
    if (!error) {
        if (log_path) event_log_begin(&log);
        SimulationOptions options = {.seed = (uint64_t)seed, .log = log_path ? &log : NULL};
        answer->tenant_count = scenario->tenant_count;
        error = simulation_run(scenario, &options, &answer->result, &answer->checker);
    }
    if (!error && log_path) error = file_write_atomic(log_path, log.bytes.data, log.bytes.size);
    byte_writer_deinit(&log.bytes);
    memory_free(scenario);
    return error;
}

static Error *replay(const char *path, Answer *answer) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, LOG_SIZE_MAX, &data, &size));
    Error *error = simulation_replay(data, size, &answer->result);
    memory_unmap(data, size);
    /* an invalid event or another decision means that the replay failed; the policy's code does not
     * matter */
    ErrorCode code = error_code(error);
    if (code == ERROR_CONFLICT || code == ERROR_NOT_FOUND || code == ERROR_INVALID)
        error = error_recode(error, ERROR_FAILED);
    answer->replayed = true;
    return error_wrap(error, "%s", path);
}

static uint64_t violations(const Answer *answer) {
    return answer->checker ? checker_violation_count(answer->checker) : 0;
}

static int64_t peak_bytes(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

static void print_text(const Answer *answer) {
    const SimulationResult *result = &answer->result;
    printf("%llu events, %llu actions (digest %016llx), %.3f virtual seconds in %.3f s\n",
        (unsigned long long)result->events, (unsigned long long)result->actions,
        (unsigned long long)result->digest, (double)result->virtual_ns / 1e9, answer->seconds);
    printf("jobs: %llu done, %llu failed, %llu refused, %llu cancelled\n",
        (unsigned long long)result->jobs_done, (unsigned long long)result->jobs_failed,
        (unsigned long long)result->jobs_refused, (unsigned long long)result->jobs_cancelled);
    if (answer->replayed) {
        printf("the same decisions as in the log%s\n",
            result->complete ? "" : ", which has no end: its writer died");
        if (result->torn_bytes)
            printf("its last %llu bytes are not a whole record\n",
                (unsigned long long)result->torn_bytes);
    }
    if (!answer->checker) return;
    printf("Jain index %.4f, %llu violations, %.1f MB at the peak\n",
        simulation_jain_index(answer->checker, answer->tenant_count),
        (unsigned long long)violations(answer), (double)peak_bytes() / 1e6);
    for (uint64_t i = 0; i < violations(answer) && i < CHECKER_VIOLATIONS_MAX; i++)
        printf("%s\n", checker_violation(answer->checker, i));
}

static Error *add_tenants(json_object *object, const Answer *answer) {
    json_object *tenants = json_object_new_array();
    json_object_object_add(object, "tenants", tenants);
    double sum = 0;
    for (uint64_t i = 0; i < answer->tenant_count; i++)
        sum += (double)checker_tenant(answer->checker, i).device_ns;
    for (uint64_t i = 0; i < answer->tenant_count; i++) {
        json_object *row;
        CheckerTenant tenant = checker_tenant(answer->checker, i);
        TRY(json_fields_create(&row));
        json_object_array_add(tenants, row);
        json_fields_int(row, "tenant", (int64_t)i);
        json_fields_int(row, "weight", (int64_t)tenant.weight);
        json_fields_int(row, "jobs_done", (int64_t)tenant.jobs_done);
        json_fields_real(row, "device_seconds", (double)tenant.device_ns / 1e9);
        json_fields_real(row, "contended_seconds", (double)tenant.contended_ns / 1e9);
        json_fields_real(row, "entitled_seconds", (double)tenant.entitled_ns / 1e9);
        json_fields_real(row, "share", sum > 0 ? (double)tenant.device_ns / sum : 0);
    }
    return NULL;
}

static Error *print_json(const Answer *answer) {
    const SimulationResult *result = &answer->result;
    json_object *object, *texts = json_object_new_array();
    char digest[20];
    TRY(json_fields_create(&object));
    (void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)result->digest);
    json_fields_int(object, "events", (int64_t)result->events);
    json_fields_int(object, "actions", (int64_t)result->actions);
    json_fields_int(object, "jobs_done", (int64_t)result->jobs_done);
    json_fields_int(object, "jobs_failed", (int64_t)result->jobs_failed);
    json_fields_int(object, "jobs_refused", (int64_t)result->jobs_refused);
    json_fields_int(object, "jobs_cancelled", (int64_t)result->jobs_cancelled);
    json_fields_real(object, "virtual_seconds", (double)result->virtual_ns / 1e9);
    json_fields_real(object, "seconds", answer->seconds);
    for (uint64_t i = 0; i < violations(answer) && i < CHECKER_VIOLATIONS_MAX; i++)
        json_object_array_add(texts, json_object_new_string(checker_violation(answer->checker, i)));
    json_object_object_add(object, "violations", texts);
    if (answer->checker)
        json_fields_real(
            object, "jain_index", simulation_jain_index(answer->checker, answer->tenant_count));
    else
        json_object_object_add(object, "jain_index", NULL);
    json_fields_text(object, "digest", digest);
    if (answer->replayed) {
        json_object_object_add(object, "complete", json_object_new_boolean(result->complete));
        json_fields_int(object, "torn_bytes", (int64_t)result->torn_bytes);
    }
    json_fields_int(object, "peak_bytes", peak_bytes());
    if (answer->checker) TRY(add_tenants(object, answer));
    return command_print_json(object);
}

Error *command_simulate(CommandContext *context) {
    __attribute__((cleanup(answer_release))) Answer answer = {0};
    const char *log = command_option(context, "replay");
    const char *scenario = context->argument_count ? context->arguments[0] : NULL;
    Clock clock = clock_real();
    uint64_t start_ns = clock_now_ns(clock);
    if (!log == !scenario) FAIL(USAGE, "simulate: needs a scenario, or --replay and a log");
    if (log && (command_option(context, "log") || command_option(context, "seed")))
        FAIL(USAGE, "simulate: --log and --seed are for scenarios, not for --replay");
    TRY(log ? replay(log, &answer) : simulate(context, scenario, &answer));
    answer.seconds = (double)(clock_now_ns(clock) - start_ns) / 1e9;
    context->exit_code = violations(&answer) ? 1 : 0;
    if (context->json) return print_json(&answer);
    print_text(&answer);
    return NULL;
}
