/* Executions of one residency on four threads: the results are those of an execution alone, and no
 * instruction takes a lock. The program is linked so that calls of pthread_mutex_lock come here. */
#include <pthread.h>

#include "tests/vm/vm_fixture.h"
#include "vm/objects/value_equal.h"

enum { THREADS = 4, EXECUTIONS = 12, ROUNDS = 300, SLICE = 97 };

static _Thread_local uint64_t locks; /* that this thread has taken */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    locks++;
    return __real_pthread_mutex_lock(mutex);
}

/* Each round: a cache grows, a closure and a function are called, packed functions make a tuple and
 * a shape, a kernel runs. The state that it carries depends on all earlier rounds. */
static const char program[] = "packed vm.builtin.attention_kv_cache_create(3)\n"
                              "packed vm.builtin.attention_kv_cache_append(2)\n"
                              "packed vm.builtin.attention_kv_cache_view(1)\n"
                              "packed vm.builtin.make_tuple(2)\n"
                              "packed vm.builtin.tuple_getitem(2)\n"
                              "packed vm.builtin.shape_of(1)\n"
                              "packed vm.builtin.copy(1)\n"
                              "constant @x = float32[1, 2] {1, 2}\n"
                              "constant @room = shape [4096, 2]\n"
                              "primitive %add = Add\n"
                              "function step(2) {\n"
                              " IntOp add, r0, r1 -> r0\n"
                              " Ret r0\n"
                              "}\n"
                              "function main(1) exported {\n"
                              " Call &vm.builtin.attention_kv_cache_create, @x, @room, 0 -> r1\n"
                              " AllocClosure &step, last, 3 -> r2\n"
                              " LoadConsti 0 -> r3\n"
                              " Move r3 -> r6\n"
                              " InvokePacked %add @x, @x -> r4\n"
                              "head:\n"
                              " If r0, 0, done, body\n"
                              "body:\n"
                              " Call &vm.builtin.attention_kv_cache_append, r1, r4 -> r1\n"
                              " InvokeClosure r2, r3 -> r3\n"
                              " Call &vm.builtin.make_tuple, r3, @x -> r5\n"
                              " Call &vm.builtin.tuple_getitem, r5, 0 -> r3\n"
                              " Call &vm.builtin.shape_of, r4 -> r6\n"
                              " Call &vm.builtin.copy, r6 -> r7\n"
                              " Invoke &step, r3, 1 -> r3\n"
                              " InvokePacked %add r4, @x -> r4\n"
                              " IntOp sub, r0, 1 -> r0\n"
                              " Goto head\n"
                              "done:\n"
                              " Call &vm.builtin.attention_kv_cache_view, r1 -> r8\n"
                              " ListNew r3, r8, r4, r6 -> r9\n"
                              " Ret r9\n"
                              "}\n";

/* *out_locks: taken while the execution ran. */
static Error *run_rounds(
    Residency *residency, int64_t rounds, uint64_t slice, Value *out, uint64_t *out_locks) {
    uint32_t function;
    OWN(Execution, execution) = NULL;
    const Value arguments[] = {value_int(rounds)};
    RunResult result = {.kind = RUN_SUSPENDED};
    TRY(executable_find_function(residency->executable, "main", &function));
    TRY(execution_create(residency, NULL, function, arguments, 1, &execution));
    const uint64_t before = locks;
    while (result.kind == RUN_SUSPENDED) TRY(execution_run(execution, (Budget){slice}, &result));
    *out_locks = locks - before;
    *out = value_copy(*execution_get_result(execution));
    return NULL;
}

typedef struct Lane {
    pthread_t thread;
    Residency *residency;
    const Value *wanted;
    uint32_t equal; /* executions that gave the wanted value */
    Error *error;
} Lane;

static Error *run_lane(Lane *lane) {
    for (uint32_t i = 0; i < EXECUTIONS; i++) {
        Value got;
        bool equal;
        uint64_t ignored;
        TRY(run_rounds(lane->residency, ROUNDS, i % 2 ? SLICE : 0, &got, &ignored));
        Error *error = value_equal(lane->wanted, &got, &equal);
        value_release(&got);
        TRY(error);
        lane->equal += equal;
    }
    return NULL;
}

static void *serve_lane(void *context) {
    Lane *lane = context;
    lane->error = run_lane(lane);
    return NULL;
}

static void test_four_threads_give_the_value_of_one(void **state) {
    (void)state;
    Value wanted;
    uint64_t ignored;
    Lane lanes[THREADS];
    VmMachine machine = vm_machine(program, "cpu");
    assert_ok(run_rounds(machine.residency, ROUNDS, 0, &wanted, &ignored));
    for (int i = 0; i < THREADS; i++) {
        lanes[i] = (Lane){.residency = machine.residency, .wanted = &wanted};
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, serve_lane, &lanes[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
        assert_ok(lanes[i].error);
        assert_int_equal(lanes[i].equal, EXECUTIONS);
    }
    value_release(&wanted);
    vm_machine_deinit(&machine);
}

/* A run of many rounds takes as many locks as a run of few, but for those of larger blocks of
 * memory. */
static void test_no_instruction_takes_a_lock(void **state) {
    (void)state;
    Value value;
    uint64_t few, many;
    VmMachine machine = vm_machine(program, "cpu");
    assert_ok(run_rounds(machine.residency, 10, 0, &value, &few)); /* plans are made */
    value_release(&value);
    assert_true(locks > 0); /* they are counted at all */
    assert_ok(run_rounds(machine.residency, 10, 0, &value, &few));
    value_release(&value);
    assert_ok(run_rounds(machine.residency, 1000, 0, &value, &many));
    value_release(&value);
    print_message("locks: %llu in 10 rounds, %llu in 1,000\n", (unsigned long long)few,
        (unsigned long long)many);
    assert_true(many < few + 5);
    vm_machine_deinit(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_threads_give_the_value_of_one),
        cmocka_unit_test(test_no_instruction_takes_a_lock),
    };
    return cmocka_run_group_tests_name("side_by_side", tests, NULL, NULL);
}
