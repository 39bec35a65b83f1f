#include "vm/execution/interpreter.h"

#include "base/checked.h"
#include "vm/execution/instructions.h"
#include "vm/residency/interpreter_labels.h"

/* Direct threading if the compiler has computed goto: each handler itself jumps to the next, which
 * branch predictors follow better than one shared jump. */
#if defined(__GNUC__) && !defined(INTERPRETER_SWITCH)
#define COMPUTED_GOTO 1
#else
#define COMPUTED_GOTO 0
#endif

static Error *int_divide(int64_t a, int64_t b, bool modulo, int64_t *out) {
    if (b == 0) FAIL(FAILED, "a division of %lld by zero", (long long)a);
    if (b == -1) {
        if (!modulo && a == INT64_MIN) FAIL(FAILED, "%lld / -1 overflows", (long long)a);
        *out = modulo ? 0 : -a;
        return NULL;
    }
    *out = modulo ? a % b : a / b;
    return NULL;
}

static Error *int_overflow(IntOpKind kind, int64_t a, int64_t b) {
    FAIL(FAILED, "%s of %lld and %lld overflows", int_op_name(kind), (long long)a, (long long)b);
}

static Error *int_op(const DecodedInstruction *instruction, Value *registers) {
    const DecodedOperand *operands = instruction->operands;
    const Value *left = operand_get(&operands[1], registers);
    const Value *right = operand_get(&operands[2], registers);
    if (left->tag != VALUE_INT || right->tag != VALUE_INT)
        FAIL(INVALID, "operands are a %s and a %s, not ints", value_kind_name(left),
            value_kind_name(right));
    int64_t a = left->integer, b = right->integer, result = 0;
    IntOpKind kind = (IntOpKind)operands[0].constant->integer;
    bool fits = true, is_bool = false;
    switch (kind) {
    case INT_OP_ADD:
        fits = checked_add_i64(a, b, &result);
        break;
    case INT_OP_SUB:
        fits = checked_sub_i64(a, b, &result);
        break;
    case INT_OP_MUL:
        fits = checked_mul_i64(a, b, &result);
        break;
    case INT_OP_DIV:
    case INT_OP_MOD:
        TRY(int_divide(a, b, kind == INT_OP_MOD, &result));
        break;
    case INT_OP_MIN:
        result = a < b ? a : b;
        break;
    case INT_OP_MAX:
        result = a > b ? a : b;
        break;
    case INT_OP_EQ:
        result = a == b;
        is_bool = true;
        break;
    case INT_OP_LT:
        result = a < b;
        is_bool = true;
        break;
    case INT_OP_LE:
        result = a <= b;
        is_bool = true;
        break;
    case INT_OP_COUNT:
        break;
    }
    if (!fits) return int_overflow(kind, a, b);
    Value value = is_bool ? value_bool(result) : value_int(result);
    register_set(registers, instruction->destination, value);
    return NULL;
}

static void finish_test(const DecodedInstruction *instruction, Value *registers) {
    operand_finish(&instruction->operands[0], registers);
    operand_finish(&instruction->operands[1], registers);
}

/* Compares If's two values. Plain ints and bools, the usual case, need no call. */
static inline Error *test_equal(
    const DecodedInstruction *instruction, const Value *registers, bool *out_equal) {
    const Value *left = operand_get(&instruction->operands[0], registers);
    const Value *right = operand_get(&instruction->operands[1], registers);
    int64_t a, b;
    if (left->tag == VALUE_INT && right->tag == VALUE_INT) {
        *out_equal = left->integer == right->integer;
        return NULL;
    }
    if (instruction->flags & INSTRUCTION_SCALAR && left->tag != VALUE_INT &&
        left->tag != VALUE_BOOL)
        FAIL(INVALID, "a condition that is a %s, not an int or a bool", value_kind_name(left));
    TRY(instruction_test_value(left, &a));
    TRY(instruction_test_value(right, &b));
    *out_equal = a == b;
    return NULL;
}

/* The loop's position between two instructions. */
typedef struct Position {
    Frame *frame;
    Value *registers;
    const DecodedInstruction *code; /* of the frame's function */
} Position;

static Error *load_position(Execution *execution, Position *out) {
    Frame *frame = execution_top(execution);
    if (!execution->decoded[frame->function])
        TRY(execution_prepare_function(execution, frame->function));
    execution->current_sites = execution->sites[frame->function];
    out->frame = frame;
    out->registers = execution->registers + frame->register_base;
    out->code = execution->decoded[frame->function]->instructions;
    return NULL;
}

/* Every way out of the loop: `completed` more instructions are done. */
static Error *leave(
    Execution *execution, uint64_t completed, RunResult result, RunResult *out_result) {
    execution->counters.instructions += completed;
    *out_result = result;
    return NULL;
}

/* A stop that was asked for, once answered, is over. */
static RunKind take_stop(Execution *execution) {
    uint32_t stop = atomic_exchange_explicit(&execution->stop, 0, memory_order_acq_rel);
    kernel_stop_clear(execution->kernel_stop);
    return stop & STOP_SUSPEND ? RUN_SUSPENDED : RUN_SLICE_ENDED;
}

#if COMPUTED_GOTO
#define TARGET(name) do_##name
#define DISPATCH() goto * instruction->label
#else
#define TARGET(name) case OPCODE_##name
#define DISPATCH() break
#endif

#ifdef INTERPRETER_UNCHECKED /* bench_vm_unchecked: measures the cost of reading the flag */
#define STOP_ASKED() 0
#else
#define STOP_ASKED() (atomic_load_explicit(&execution->stop, memory_order_relaxed) != 0)
#endif

/* Ends an instruction: counts down, checks the flag, takes the next one. */
#define NEXT(next)                                                                                 \
    {                                                                                              \
        instruction = (next);                                                                      \
        if (__builtin_expect(--fuel == 0, 0) || __builtin_expect(STOP_ASKED(), 0)) {               \
            position.frame->pc = (uint32_t)(instruction - position.code);                          \
            RunKind kind = fuel == 0 ? RUN_SUSPENDED : take_stop(execution);                       \
            return leave(execution, all - fuel, (RunResult){.kind = kind}, out_result);            \
        }                                                                                          \
        DISPATCH();                                                                                \
    }
#define NEXT_SAME()                                                                                \
    { DISPATCH(); }
#define SAVE_PC() position.frame->pc = (uint32_t)(instruction - position.code)
/* An error ends the run; the pc must have been saved. Frames may have moved since. */
#define CHECK_SAVED(expression)                                                                    \
    {                                                                                              \
        Error *error = (expression);                                                               \
        if (__builtin_expect(error != NULL, 0)) {                                                  \
            execution->counters.instructions += all - fuel;                                        \
            return error;                                                                          \
        }                                                                                          \
    }
#define CHECK(expression)                                                                          \
    {                                                                                              \
        Error *checked = (expression);                                                             \
        if (__builtin_expect(checked != NULL, 0)) {                                                \
            SAVE_PC();                                                                             \
            CHECK_SAVED(checked);                                                                  \
        }                                                                                          \
    }
/* An instruction with a handler in instructions_*.c, named by its row of opcodes.def. */
#define HANDLE(handler)                                                                            \
    {                                                                                              \
        Step step = STEP_NEXT;                                                                     \
        SAVE_PC();                                                                                 \
        CHECK_SAVED(handler(execution, instruction, position.registers, &step));                   \
        if (__builtin_expect(step == STEP_NEXT, 1)) NEXT(instruction + 1);                         \
        if (step == STEP_STOP && execution->stop_result.kind == RUN_NEEDS_MEMORY &&                \
            execution_flush_recycled(execution)) /* perhaps that is enough: once more */           \
            NEXT_SAME();                                                                           \
        if (step == STEP_STOP)                                                                     \
            return leave(execution, all - fuel, execution->stop_result, out_result);               \
        if (step == STEP_FINISHED)                                                                 \
            return leave(                                                                          \
                execution, all - fuel + 1, (RunResult){.kind = RUN_FINISHED}, out_result);         \
        CHECK_SAVED(load_position(execution, &position));                                          \
        NEXT(position.code + position.frame->pc);                                                  \
    }

static _Atomic(const void *const *) run_labels;

Error *interpreter_run(Execution *execution, Budget budget, RunResult *out_result) {
#if COMPUTED_GOTO
    static const void *const labels[OPCODE_TABLE_SIZE] = {
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    [number] = &&do_##name,
#include "vm/instruction/opcodes.def"
#undef OPCODE
    };
    if (!execution) {
        atomic_store_explicit(&run_labels, labels, memory_order_relaxed);
        return NULL;
    }
#endif
    const uint64_t all = budget.instructions ? budget.instructions : UINT64_MAX;
    uint64_t fuel = all;
    Position position;
    TRY(load_position(execution, &position));
    const DecodedInstruction *instruction = position.code + position.frame->pc;
    if (atomic_load_explicit(&execution->stop, memory_order_relaxed) != 0)
        return leave(execution, 0, (RunResult){.kind = take_stop(execution)}, out_result);
#if COMPUTED_GOTO
    DISPATCH();
#else
    for (;;) switch ((Opcode)instruction->opcode) {
#endif
    TARGET(MOVE) : {
        Value value = operand_take(&instruction->operands[0], position.registers);
        register_set(position.registers, instruction->destination, value);
        NEXT(instruction + 1);
    }
    TARGET(LOAD_CONST) : TARGET(LOAD_CONSTI) : {
        Value value = value_copy(*instruction->operands[0].constant);
        register_set(position.registers, instruction->destination, value);
        NEXT(instruction + 1);
    }
    TARGET(KILL_REGISTER) : {
        value_release(&position.registers[instruction->destination]);
        NEXT(instruction + 1);
    }
    TARGET(GOTO) : NEXT(instruction + instruction->jump);
    TARGET(IF) : {
        bool equal;
        CHECK(test_equal(instruction, position.registers, &equal));
        if (instruction->last_uses) finish_test(instruction, position.registers);
        /* two jumps, each predicted on its own: one jump to a chosen place would wait for the test
         */
        if (equal) NEXT(instruction + instruction->jump);
        NEXT(instruction + instruction->jump_otherwise);
    }
    TARGET(INT_OP) : {
        CHECK(int_op(instruction, position.registers));
        NEXT(instruction + 1);
    }
#define OPCODE_IN_LOOP(number, name, mnemonic, destination, operands, flags, slot, effect)
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    TARGET(name) : HANDLE(instruction_##handler);
#include "vm/instruction/opcodes.def"
#undef OPCODE
#if !COMPUTED_GOTO
}
#endif
}

const void *const *interpreter_labels(void) {
    if (COMPUTED_GOTO && !atomic_load_explicit(&run_labels, memory_order_relaxed))
        error_free(interpreter_run(NULL, (Budget){0}, NULL)); /* only stores the labels */
    return atomic_load_explicit(&run_labels, memory_order_relaxed);
}
