#include "vm/residency/weight_packing.h"

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/vm/image_fixture.h"
#include "tests/vm/vm_fixture.h"
#include "vm/residency/residency_image.h"

enum { WEIGHTS = 12, PIECE = 100 };

/* Weights of different sizes that are packed, one that is also needed as it is, one of the host. */
static Executable *parse(void) {
    TextBuilder OWN_TEXT(text) = {0};
    for (int w = 0; w < WEIGHTS; w++) {
        const int columns = 32 + w % 3 * 9;
        text_appendf(&text, "constant @w%d slot 1 = float32[8, %d] {", w, columns);
        for (int i = 0; i < 8 * columns; i++)
            text_appendf(&text, "%s%d", i ? ", " : "", (i + w) % 11);
        text_append(&text, "}\n");
    }
    text_append(&text, "constant @h slot 0 = int64[2] {3, 4}\nprimitive %mm = MatMul\n"
                       "function f(1) exported {\n DeviceCopy r0, 1 -> r1\n");
    for (int w = 0; w < WEIGHTS; w++)
        text_appendf(&text, " InvokePacked %%mm r1, @w%d -> r%d\n", w, w + 2);
    text_append(&text, " Ret r2\n}\nfunction g() exported {\n AllocADT 0, @w3, @h -> r0\n"
                       " Ret r0\n}\n");
    Executable *executable = vm_parse(text_builder_get(&text));
    executable->identity.bytes[0] = 5;
    return executable;
}

typedef struct Machine {
    Executable *executable;
    Device *cpu;
    Residency *residency;
    OneImage expected; /* made of weights that were all packed before */
    WeightImages images;
} Machine;

static void machine_init(Machine *machine) {
    bool kept;
    *machine = (Machine){.executable = parse()};
    machine->images = one_image(&machine->expected);
    assert_ok(device_open("cpu", &machine->cpu));
    assert_ok(residency_create(
        machine->executable, machine->cpu, machine->cpu, NULL, &machine->residency));
    assert_int_equal(machine->residency->packed_count, WEIGHTS);
    assert_ok(residency_image_keep(machine->residency, &machine->images, NULL, &kept));
    assert_true(kept);
}

static void machine_deinit(Machine *machine) {
    residency_release(machine->residency);
    executable_release(machine->executable);
    device_close(machine->cpu);
    one_image_deinit(&machine->expected);
}

typedef struct Reading {
    WeightPacking *packing;
    uint64_t size;
    uint8_t *to;
} Reading;

static Error *read_piece(void *context, size_t index) {
    const Reading *reading = context;
    const uint64_t at = (uint64_t)index * PIECE, left = reading->size - at;
    const size_t size = left < PIECE ? (size_t)left : PIECE;
    char buffer[PIECE];
    const void *data;
    TRY(weight_packing_read(reading->packing, at, size, buffer, &data));
    memcpy(reading->to + at, data, size);
    return NULL;
}

/* Threads that read pieces of the same weight, ahead of each other, and all of it twice. */
static void test_weight_packing_gives_the_bytes_of_weights_packed_before(void **state) {
    (void)state;
    Machine machine;
    machine_init(&machine);
    const Residency *residency = machine.residency;
    uint8_t needs_plain[WEIGHTS + 1] = {0};
    WeightLayout OWN_LAYOUT(layout) = {0};
    for (uint32_t i = 0; i <= WEIGHTS; i++)
        needs_plain[i] = residency->constants[SLOT_HOST][i] || residency->constants[SLOT_DEVICE][i];
    assert_ok(weight_layout_make(residency, needs_plain, &layout));
    assert_int_equal(layout.key.size, machine.expected.key.size);
    for (uint32_t threads = 0; threads < 5; threads++) {
        OWN(WorkerPool, pool) = NULL;
        OWN(WeightPacking, packing) = NULL;
        void *memory;
        if (threads) assert_ok(worker_pool_create("test", threads, &pool));
        assert_ok(weight_packing_create(residency, &layout, &packing));
        assert_ok(memory_alloc((size_t)layout.key.size, 1, &memory));
        for (int round = 0; round < 2; round++) {
            Reading reading = {packing, layout.key.size, memory};
            memset(memory, 0xee, (size_t)layout.key.size);
            assert_ok(worker_pool_for_each(
                pool, (size_t)(layout.key.size + PIECE - 1) / PIECE, read_piece, &reading));
            assert_memory_equal(memory, machine.expected.data, layout.key.size);
        }
        memory_free(memory);
    }
    machine_deinit(&machine);
}

/* The image is looked for, made if there is none or a wrong one, and then found. */
static void test_weight_packing_prepares_an_image_once(void **state) {
    (void)state;
    Machine machine;
    machine_init(&machine);
    OneImage made = {0};
    const WeightImages images = one_image(&made);
    for (int i = 0; i < 3; i++) {
        made.corrupt = i == 1;
        assert_ok(residency_prepare(machine.executable, machine.cpu, &images, NULL));
        made.corrupt = false;
        assert_int_equal(made.discards, i > 0);
        assert_int_equal(made.key.size, machine.expected.key.size);
        assert_true(digest_equal(&made.key.layout, &machine.expected.key.layout));
        assert_memory_equal(made.data, machine.expected.data, made.key.size);
        assert_int_equal(made.held, 0);
    }
    machine.executable->outline = true;
    assert_fails(INVALID, residency_prepare(machine.executable, machine.cpu, &images, NULL));
    machine.executable->outline = false;
    one_image_deinit(&made);
    machine_deinit(&machine);
}

int test_weight_packing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_packing_gives_the_bytes_of_weights_packed_before),
        cmocka_unit_test(test_weight_packing_prepares_an_image_once),
    };
    return cmocka_run_group_tests_name("weight_packing", tests, NULL, NULL);
}
