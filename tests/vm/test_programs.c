#include <pthread.h>
#include <stdio.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"
#include "tests/vm/program_runner.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/value_equal.h"

/* Every program of tests/programs in every way to run it: exports ok_... must return true,
 * fails_... must fail with the message of their comment. */

typedef struct Machine {
    Device *cpu, *sim, *process; /* the last in one of its own */
} Machine;

typedef struct Program {
    const char *path;
    Executable *executable;
    Residency *on_cpu, *on_sim, *on_process;
    ExecutionOptions options;
} Program;

typedef void Way(const Program *program, uint32_t function, const ProgramOutcome *straight);

static int set_up(void **state) {
    Machine *machine = test_calloc(1, sizeof *machine);
    assert_ok(device_open("cpu", &machine->cpu));
    assert_ok(device_open("sim:0,lag=20", &machine->sim));
    assert_ok(device_open("sim:1,worker=process", &machine->process));
    *state = machine;
    return 0;
}

static int tear_down(void **state) {
    Machine *machine = *state;
    device_close(machine->cpu);
    device_close(machine->sim);
    device_close(machine->process);
    test_free(machine);
    return 0;
}

static const char *name_of(const Program *program, uint32_t function) {
    return program->executable->functions[function].name;
}

static bool is_heavy(const char *name) { return strstr(name, "_heavy"); }

static ProgramRun run_on(const Program *program, Residency *const *residency, uint32_t count) {
    return (ProgramRun){
        .residencies = residency, .residency_count = count, .options = &program->options};
}

static void check_straight(
    const Program *program, uint32_t function, const ProgramOutcome *outcome) {
    const char *name = name_of(program, function);
    if (text_starts_with(name, "fails_")) {
        char message[512];
        if (!program_expected_message(program->path, name, message, sizeof message))
            fail_msg("%s: %s lacks its comment", program->path, name);
        if (!outcome->failed || !strstr(outcome->message, message))
            fail_msg("%s: %s gave \"%s\"", program->path, name,
                outcome->failed ? outcome->message : "no error");
        return;
    }
    if (outcome->failed) fail_msg("%s: %s: %s", program->path, name, outcome->message);
    const Value *result = &outcome->result;
    bool is_true = (result->tag == VALUE_BOOL && result->boolean) ||
                   (result->tag == VALUE_INT && result->integer != 0);
    if (!is_true) fail_msg("%s: %s is not true", program->path, name);
}

typedef struct Visit {
    const Machine *machine;
    Way *way;
    bool with_heavy; /* programs of millions of instructions too */
} Visit;

static void visit_program(const char *path, void *context) {
    const Visit *visit = context;
    Program program = {.path = path, .executable = program_load(path)};
    assert_ok(residency_create(
        program.executable, visit->machine->cpu, visit->machine->cpu, NULL, &program.on_cpu));
    assert_ok(residency_create(
        program.executable, visit->machine->cpu, visit->machine->sim, NULL, &program.on_sim));
    assert_ok(residency_create(program.executable, visit->machine->cpu, visit->machine->process,
        NULL, &program.on_process));
    program.options =
        (ExecutionOptions){.yield_limit = 2, .philox_key = 7, .packed = program_registry()};
    for (uint32_t i = 0; i < program.executable->function_count; i++) {
        if (!(program.executable->functions[i].flags & FUNCTION_EXPORTED)) continue;
        if (!visit->with_heavy && is_heavy(name_of(&program, i))) continue;
        ProgramRun straight = run_on(&program, &program.on_cpu, 1);
        ProgramOutcome outcome;
        program_run(&straight, i, &outcome);
        check_straight(&program, i, &outcome);
        if (visit->way) visit->way(&program, i, &outcome);
        program_outcome_deinit(&outcome);
    }
    packed_registry_release(program.options.packed);
    residency_release(program.on_cpu);
    residency_release(program.on_sim);
    residency_release(program.on_process);
    executable_release(program.executable);
}

static void for_each_program(void **state, Way *way) {
    Visit visit = {*state, way, false};
    program_for_each(visit_program, &visit);
}

static void compare_run(const Program *program, uint32_t function, const ProgramOutcome *straight,
    const ProgramRun *run, const char *way) {
    ProgramOutcome outcome;
    program_run(run, function, &outcome);
    program_outcomes_compare(name_of(program, function), way, straight, &outcome);
    program_outcome_deinit(&outcome);
}

static void test_programs_give_what_they_promise(void **state) { for_each_program(state, NULL); }

/* Deep recursion, long lists: millions of instructions, suspended once half way. */
static void run_heavy(const Program *program, uint32_t function, const ProgramOutcome *straight) {
    if (!is_heavy(name_of(program, function)) || straight->failed) return;
    Residency *const around[] = {program->on_cpu, program->on_sim};
    ProgramRun run = run_on(program, around, 2);
    run.step = straight->counters.instructions / 2 + 1;
    run.through = program_through_snapshot;
    compare_run(program, function, straight, &run, "suspended half way");
}
static void test_heavy_programs_survive_a_suspension(void **state) {
    TEST_OF_ONE_THREAD();
    TEST_OF_RESULTS();
    Visit visit = {*state, run_heavy, true};
    program_for_each(visit_program, &visit);
}

static void run_on_sim(const Program *program, uint32_t function, const ProgramOutcome *straight) {
    ProgramRun run = run_on(program, &program->on_sim, 1);
    compare_run(program, function, straight, &run, "on sim:0");
}
static void test_programs_give_the_same_on_sim(void **state) {
    for_each_program(state, run_on_sim);
}

static void run_in_process(
    const Program *program, uint32_t function, const ProgramOutcome *straight) {
    Residency *const around[] = {program->on_process, program->on_cpu};
    ProgramRun run = run_on(program, around, 1);
    compare_run(program, function, straight, &run, "in a worker process");
    run = run_on(program, around, 2);
    run.step = straight->counters.instructions / 3 + 1;
    run.through = program_through_snapshot;
    compare_run(program, function, straight, &run, "suspended between a worker process and cpu");
}
static void test_programs_give_the_same_in_a_worker_process(void **state) {
    for_each_program(state, run_in_process);
}

/* Every instruction in a fresh state. The last way makes all calls that the others make. */
#ifdef TEST_WITH_ADDRESS_SANITIZER
enum { WAY_FIRST = 2 };
#else
enum { WAY_FIRST = 0 };
#endif
static void run_chained(const Program *program, uint32_t function, const ProgramOutcome *straight) {
    Residency *const around[] = {program->on_cpu, program->on_sim};
    for (uint32_t way = WAY_FIRST; way < 3; way++) {
        ProgramRun run = run_on(program,
            way == 0   ? &around[0]
            : way == 1 ? &around[1]
                       : around,
            way == 2 ? 2 : 1);
        run.step = 1;
        run.through = program_through_snapshot;
        compare_run(program, function, straight, &run,
            way == 0   ? "suspended at every instruction on cpu"
            : way == 1 ? "suspended at every instruction on sim:0"
                       : "suspended at every instruction from cpu to sim:0 and back");
    }
}
static void test_programs_survive_a_suspension_at_every_instruction(void **state) {
    for_each_program(state, run_chained);
}

static void run_with_small_grants(
    const Program *program, uint32_t function, const ProgramOutcome *straight) {
    ProgramRun run = run_on(program, &program->on_sim, 1);
    run.small_grants = true;
    compare_run(program, function, straight, &run, "with memory granted when needed");
}
static void test_programs_wait_for_memory_without_an_effect(void **state) {
    for_each_program(state, run_with_small_grants);
}

enum { SNAPSHOTS_MAX = 2000 };

/* Reads the snapshots again and again on another thread while the execution runs on. */
typedef struct Reader {
    pthread_mutex_t mutex;
    Snapshot *snapshots[SNAPSHOTS_MAX];
    uint64_t digests[SNAPSHOTS_MAX];
    uint32_t count;
    bool stop;
} Reader;

static uint32_t reader_count(Reader *reader, bool *out_stop) {
    (void)pthread_mutex_lock(&reader->mutex);
    uint32_t count = reader->count;
    *out_stop = reader->stop;
    (void)pthread_mutex_unlock(&reader->mutex);
    return count;
}

static void *read_snapshots(void *context) {
    Reader *reader = context;
    uintptr_t wrong = 0;
    bool stop = false;
    uint32_t next = 0;
    while (!stop) {
        uint32_t count = reader_count(reader, &stop);
        for (; next < count; next++)
            wrong += program_digest_snapshot(reader->snapshots[next]) != reader->digests[next];
    }
    return (void *)wrong;
}

static void run_with_snapshots(
    const Program *program, uint32_t function, const ProgramOutcome *straight) {
    if (straight->failed) return;
    Reader *reader = test_calloc(1, sizeof *reader);
    (void)pthread_mutex_init(&reader->mutex, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_snapshots, reader), 0);
    Execution *execution;
    assert_ok(execution_create(program->on_cpu, &program->options, function, NULL, 0, &execution));
    RunResult result = {.kind = RUN_SUSPENDED};
    while (result.kind != RUN_FINISHED && reader->count < SNAPSHOTS_MAX) {
        Snapshot *snapshot;
        assert_ok(snapshot_take(execution, &snapshot));
        uint64_t digest = program_digest_snapshot(snapshot);
        (void)pthread_mutex_lock(&reader->mutex);
        reader->snapshots[reader->count] = snapshot;
        reader->digests[reader->count++] = digest;
        (void)pthread_mutex_unlock(&reader->mutex);
        assert_ok(execution_run(execution, (Budget){1}, &result));
        Value yielded;
        uint64_t sequence;
        if (result.kind == RUN_BLOCKED)
            while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
    }
    (void)pthread_mutex_lock(&reader->mutex);
    reader->stop = true;
    (void)pthread_mutex_unlock(&reader->mutex);
    void *wrong;
    (void)pthread_join(thread, &wrong);
    if (wrong) fail_msg("%s: snapshots changed while running on", name_of(program, function));
    for (uint32_t i = 0; i < reader->count; i++) {
        if (program_digest_snapshot(reader->snapshots[i]) != reader->digests[i])
            fail_msg("%s: snapshot %u changed", name_of(program, function), i);
        snapshot_release(reader->snapshots[i]);
    }
    execution_release(execution);
    test_free(reader);
}
static void test_snapshots_stay_while_the_execution_runs_on(void **state) {
    for_each_program(state, run_with_snapshots);
}

static void check_round_trip(const char *path, void *context) {
    (void)context;
    Executable *executable = program_load(path);
    TextBuilder OWN_TEXT(first) = {0};
    assert_ok(assembly_print(executable, true, &first));
    Executable *again;
    assert_ok(assembly_parse(text_builder_get(&first), first.size, &again));
    TextBuilder OWN_TEXT(second) = {0};
    assert_ok(assembly_print(again, true, &second));
    assert_string_equal(text_builder_get(&first), text_builder_get(&second));
    assert_int_equal(executable->code_word_count, again->code_word_count);
    assert_memory_equal(
        executable->code, again->code, executable->code_word_count * sizeof(uint64_t));
    executable_release(executable);
    executable_release(again);
}
static void test_programs_survive_assembly_and_back(void **state) {
    (void)state;
    program_for_each(check_round_trip, NULL);
}

int test_programs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_survive_assembly_and_back),
        cmocka_unit_test(test_programs_give_what_they_promise),
        cmocka_unit_test(test_heavy_programs_survive_a_suspension),
        cmocka_unit_test(test_programs_give_the_same_on_sim),
        cmocka_unit_test(test_programs_give_the_same_in_a_worker_process),
        cmocka_unit_test(test_programs_survive_a_suspension_at_every_instruction),
        cmocka_unit_test(test_programs_wait_for_memory_without_an_effect),
        cmocka_unit_test(test_snapshots_stay_while_the_execution_runs_on),
    };
    return cmocka_run_group_tests_name("programs", tests, set_up, tear_down);
}
