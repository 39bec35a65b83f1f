/* bench_vm: what an instruction costs. Each figure is the best of many rounds, so that whatever
 * else runs disturbs only some. bench_vm_unchecked is the same without the look at the stop flag:
 * the two side by side give the cost of a safepoint. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/tensor.h"
#include "vm/assembly/assembly.h"
#include "vm/execution/snapshot.h"

enum { ROUNDS = 60, LIVE_TENSORS = 1000 };

static int fail(Error *error) {
    fprintf(stderr, "bench_vm: %s\n", error_message(error));
    error_free(error);
    return 1;
}

/* Repeats a body in a loop of the program's own; r0 counts down, r1 … belong to the body. */
static Error *write_loop(const char *name, const char *start, const char *body, uint32_t copies,
    uint32_t rounds, TextBuilder *out) {
    text_appendf(
        out, "function %s() exported last_uses {\n LoadConsti %u -> r0\n%s", name, rounds, start);
    text_append(out, "head:\n If r0, 0, done, body\nbody:\n");
    for (uint32_t i = 0; i < copies; i++) text_append(out, body);
    text_append(out, " IntOp sub, r0, 1 -> r0\n Goto head\ndone:\n Ret r1\n}\n");
    return text_builder_check(out);
}

typedef struct Measured {
    const char *function, *what;
    uint32_t copies, rounds;
    double target_ns;
} Measured;

static Error *no_operation(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)count;
    (void)context;
    *out_result = arguments[0];
    return NULL;
}

static Error *run_once(Residency *residency, const ExecutionOptions *options, uint32_t function,
    uint64_t *out_ns, uint64_t *out_instructions) {
    OWN(Execution, execution) = NULL;
    TRY(execution_create(residency, options, function, NULL, 0, &execution));
    RunResult result;
    uint64_t start = clock_now_ns(clock_real());
    TRY(execution_run(execution, (Budget){0}, &result));
    *out_ns = clock_now_ns(clock_real()) - start;
    *out_instructions = execution_get_counters(execution).instructions;
    return NULL;
}

static Error *best_of(Residency *residency, const ExecutionOptions *options, const char *name,
    double *out_ns, uint64_t *out_instructions) {
    uint32_t function;
    TRY(executable_find_function(residency->executable, name, &function));
    *out_ns = 1e30;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t ns;
        TRY(run_once(residency, options, function, &ns, out_instructions));
        if ((double)ns < *out_ns) *out_ns = (double)ns;
    }
    return NULL;
}

static const Measured measured[] = {
    {"cheap", "cheap instruction (Move, IntOp, If, Goto)", 4, 100000, 10},
    {"fields", "GetField of an ADT", 16, 20000, 0},
    {"call", "Call of a packed function", 16, 20000, 25},
    {"invoke", "Invoke of a VM function and its Ret", 16, 20000, 0},
    {"in_place", "InvokePacked hit, Relu [4] in place", 16, 10000, 100},
    {"fresh", "InvokePacked hit, Add [4] into a new tensor", 16, 10000, 100},
    {"view", "InvokePacked hit, Identity (a view)", 16, 10000, 100},
};

static Error *write_program(TextBuilder *out) {
    text_append(out,
        "constant @x = float32[4] {1, 2, 3, 4}\nprimitive %relu = Relu\nprimitive %add = Add\n"
        "primitive %same = Identity\npacked bench.nothing(1)\nfunction callee(1) last_uses {\n Ret "
        "r0\n}\n");
    const char *const starts[] = {" LoadConsti 1 -> r1\n",
        " AllocADT 0, 1, 2 -> r2\n LoadConsti 1 -> r1\n", " LoadConsti 1 -> r1\n",
        " LoadConsti 1 -> r1\n", " InvokePacked %relu @x -> r1\n", " InvokePacked %relu @x -> r1\n",
        " InvokePacked %relu @x -> r1\n"};
    const char *const bodies[] = {
        " IntOp add, r1, 3 -> r2\n Move r2 -> r3\n IntOp min, r3, 9 -> r1\n",
        " GetField r2, 1 -> r1\n", " Call &bench.nothing, r1 -> r1\n",
        " Invoke &callee, r1 -> r1\n", " InvokePacked %relu r1 -> r1\n",
        " InvokePacked %add r1, @x -> r2\n", " InvokePacked %same r1 -> r1\n"};
    for (uint32_t i = 0; i < sizeof measured / sizeof measured[0]; i++)
        TRY(write_loop(measured[i].function, starts[i], bodies[i], measured[i].copies,
            measured[i].rounds, out));
    text_append(out, "function hold() exported registers 1003 {\n LoadConsti 0 -> r0\n");
    for (int i = 1; i <= LIVE_TENSORS; i++)
        text_appendf(out, " InvokePacked %%relu @x -> r%d\n", i);
    text_append(out, " LoadConsti 0 -> r1001\n ListNew r0");
    for (int i = 1; i <= LIVE_TENSORS; i++) text_appendf(out, ", r%d", i);
    text_append(out, " -> r1002\n Ret r1002\n}\n");
    return text_builder_check(out);
}

static Error *measure_instructions(Residency *residency, const ExecutionOptions *options) {
    double cheap_ns = 0;
    for (uint32_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        double ns;
        uint64_t instructions;
        TRY(best_of(residency, options, measured[i].function, &ns, &instructions));
        if (i == 0) {
            cheap_ns = ns / (double)instructions;
            ns = cheap_ns;
        } else {
            /* the loop's own three instructions are cheap ones */
            ns = ns / measured[i].rounds - 3 * cheap_ns;
            ns /= measured[i].copies;
        }
        printf("%-46s %8.2f ns", measured[i].what, ns);
        if (measured[i].target_ns > 0) printf("   target %.0f", measured[i].target_ns);
        printf("\n");
    }
    return NULL;
}

static Error *measure_snapshot(Residency *residency, const ExecutionOptions *options) {
    uint32_t function;
    OWN(Execution, execution) = NULL;
    TRY(executable_find_function(residency->executable, "hold", &function));
    TRY(execution_create(residency, options, function, NULL, 0, &execution));
    RunResult result;
    TRY(execution_run(execution, (Budget){LIVE_TENSORS + 1}, &result));
    double best = 1e30;
    for (int i = 0; i < ROUNDS * 10; i++) {
        OWN(Snapshot, snapshot) = NULL;
        uint64_t start = clock_now_ns(clock_real());
        TRY(snapshot_take(execution, &snapshot));
        double ns = (double)(clock_now_ns(clock_real()) - start);
        if (ns < best) best = ns;
        if (snapshot->register_count < LIVE_TENSORS) FAIL(INTERNAL, "registers are missing");
    }
    printf("%-46s %8.2f us   target 50\n", "snapshot of 1,000 live tensors", best / 1000);
    return NULL;
}

static Error *run(void) {
    TextBuilder OWN_TEXT(text) = {0};
    TRY(write_program(&text));
    OWN(Executable, executable) = NULL;
    OWN(Device, cpu) = NULL;
    TRY(assembly_parse(text_builder_get(&text), text.size, &executable));
    TRY(device_open("cpu", &cpu));
    OWN(Residency, residency) = NULL;
    TRY(residency_create(executable, cpu, cpu, NULL, &residency));
    OWN(PackedRegistry, registry) = NULL;
    TRY(packed_registry_create(&registry));
    TRY(packed_registry_add(registry, "bench.nothing", 1, no_operation, NULL, NULL));
    ExecutionOptions options = {.packed = registry};
    TRY(measure_instructions(residency, &options));
    return measure_snapshot(residency, &options);
}

int main(void) {
    Error *error = run();
    return error ? fail(error) : 0;
}
