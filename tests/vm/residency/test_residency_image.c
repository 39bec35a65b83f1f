#include "vm/residency/residency_image.h"

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/vm/image_fixture.h"
#include "tests/vm/vm_fixture.h"

/* A weight that is packed where the device does that, one that is not, and one of the host. */
static const char PROGRAM[] =
    "constant @w slot 1 = float32[8, 16] {%s}\n"
    "constant @p slot 1 = float32[2] {10, 20}\nconstant @h slot 0 = int64[2] {3, 4}\n"
    "primitive %mm = MatMul\n"
    "function f(1) exported {\n DeviceCopy r0, 1 -> r1\n InvokePacked %mm r1, @w -> r2\n"
    " Ret r2\n}\n"
    "function g() exported {\n AllocADT 0, @p, @h -> r0\n Ret r0\n}\n";
enum { ROWS = 8, COLUMNS = 16 };

static Executable *parse(void) {
    TextBuilder OWN_TEXT(numbers) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) text_appendf(&numbers, "%s%d", i ? ", " : "", i % 7);
    const char *percent = strstr(PROGRAM, "%s");
    text_appendf(&text, "%.*s%s%s", (int)(percent - PROGRAM), PROGRAM, text_builder_get(&numbers),
        percent + 2);
    Executable *executable = vm_parse(text_builder_get(&text));
    executable->identity.bytes[0] = 5;
    return executable;
}

typedef struct Machine {
    Device *cpu, *device;
    Executable *executable, *outline;
    OneImage image;
    WeightImages images;
    Residency *made;
} Machine;

/* The outline stands for one whose bytes were not read: nobody may look at them. */
static void hide_weights(Executable *outline) {
    Tensor *weight = outline->constants[0].value.tensor;
    memset(tensor_data(weight), 0xff, tensor_bytes(weight));
    outline->outline = true;
}

static void machine_init(Machine *machine, const char *device) {
    bool kept;
    *machine = (Machine){.executable = parse(), .outline = parse()};
    hide_weights(machine->outline);
    machine->images = one_image(&machine->image);
    assert_ok(device_open("cpu", &machine->cpu));
    assert_ok(device_open(device, &machine->device));
    ResidencySource source = {.images = &machine->images, .data = machine->executable};
    assert_ok(residency_create_from(
        machine->outline, machine->cpu, machine->device, NULL, &source, &machine->made));
    assert_int_equal(machine->image.finds, 1);
    assert_ok(residency_image_keep(machine->made, &machine->images, NULL, &kept));
    assert_true(kept);
}

static void machine_deinit(Machine *machine) {
    residency_release(machine->made);
    assert_int_equal(machine->image.held, 0);
    one_image_deinit(&machine->image);
    executable_release(machine->executable);
    executable_release(machine->outline);
    device_close(machine->device);
    device_close(machine->cpu);
}

static Residency *find(Machine *machine) {
    Residency *residency;
    ResidencySource source = {.images = &machine->images};
    assert_ok(residency_create_from(
        machine->outline, machine->cpu, machine->device, NULL, &source, &residency));
    return residency;
}

static Execution *start(Residency *residency, const char *function, Tensor *input) {
    uint32_t index;
    Execution *execution;
    Value argument = value_object(OBJECT_TENSOR, input);
    assert_ok(executable_find_function(residency->executable, function, &index));
    assert_ok(execution_create(residency, NULL, index, &argument, input ? 1 : 0, &execution));
    return execution;
}

/* Row sums of the weight, by the device's own product. */
static void expect_product(Residency *residency) {
    float ones[ROWS], product[COLUMNS];
    RunResult result;
    const int64_t dims[] = {1, ROWS};
    Shape shape = shape_make(2, dims);
    for (int i = 0; i < ROWS; i++) ones[i] = 1;
    OWN(Tensor, input) = NULL;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &input));
    memcpy(tensor_data(input), ones, sizeof ones);
    OWN(Execution, execution) = start(residency, "f", input);
    assert_ok(execution_run(execution, (Budget){0}, &result));
    assert_ok(tensor_copy_to_host(execution_get_result(execution)->tensor, product));
    for (int c = 0; c < COLUMNS; c++) {
        float expected = 0;
        for (int r = 0; r < ROWS; r++) expected += (float)((r * COLUMNS + c) % 7);
        assert_true(product[c] == expected);
    }
}

static void test_residency_image_gives_the_same_residency(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (int i = 0; i < 2; i++) {
        Machine machine;
        machine_init(&machine, devices[i]);
        expect_product(machine.made);
        OWN(Residency, found) = find(&machine);
        assert_ptr_equal(found->executable, machine.outline);
        assert_true(machine.image.checks > 0);
        assert_int_equal(found->packed_count, machine.made->packed_count);
        expect_product(found);
        float plain[2];
        assert_ok(tensor_copy_to_host(found->constants[SLOT_DEVICE][1], plain));
        assert_true(plain[0] == 10 && plain[1] == 20);
        const int64_t *host = tensor_data(found->constants[SLOT_HOST][2]);
        assert_true(host[0] == 3 && host[1] == 4);
        assert_int_equal(found->constants[SLOT_HOST][2]->storage->constant_index, 2);
        assert_true(found->constants[SLOT_DEVICE][1]->storage->sealed);
        assert_int_equal(machine.image.held, 1);
        Tensor *kept = tensor_retain(found->constants[SLOT_HOST][2]);
        residency_release(TAKE(found));
        assert_int_equal(machine.image.held, 1); /* memory lasts as long as what lies in it */
        tensor_release(kept);
        machine_deinit(&machine);
    }
}

static void test_residency_image_is_made_anew_when_it_is_not_right(void **state) {
    (void)state;
    for (int damaged = 0; damaged < 2; damaged++) {
        Machine machine;
        machine_init(&machine, "sim:0");
        machine.image.corrupt = !damaged;
        machine.image.damaged = damaged;
        assert_null(find(&machine)); /* an outline has nothing else */
        assert_int_equal(machine.image.discards, 1);
        assert_int_equal(machine.image.held, 0);
        assert_null(find(&machine));
        ResidencySource source = {.images = &machine.images, .data = machine.executable};
        OWN(Residency, made) = NULL;
        assert_ok(residency_create_from(
            machine.outline, machine.cpu, machine.device, NULL, &source, &made));
        expect_product(made);
        residency_release(TAKE(made));
        machine_deinit(&machine);
    }
}

/* The file became shorter while an execution read its weights: its result is not believed. */
static void test_residency_image_that_breaks_is_a_lost_device(void **state) {
    (void)state;
    Machine machine;
    machine_init(&machine, "cpu");
    OWN(Residency, found) = find(&machine);
    OWN(Execution, execution) = start(found, "g", NULL);
    assert_ok(residency_check(found));
    machine.image.damaged = true;
    RunResult result;
    assert_fails(DEVICE_LOST, residency_check(found));
    assert_fails(DEVICE_LOST, execution_run(execution, (Budget){0}, &result));
    assert_fails(CONFLICT, execution_run(execution, (Budget){0}, &result));
    assert_ok(residency_check(machine.made));
    execution_release(TAKE(execution));
    residency_release(TAKE(found));
    machine_deinit(&machine);
}

static void test_residency_image_has_its_limits(void **state) {
    (void)state;
    Machine machine;
    bool kept;
    Residency *residency = NULL;
    machine_init(&machine, "sim:0");
    machine.image.full = true;
    assert_ok(residency_image_keep(machine.made, &machine.images, NULL, &kept));
    assert_false(kept);
    assert_fails(
        INVALID, residency_create(machine.outline, machine.cpu, machine.device, NULL, &residency));
    machine.outline->identity.bytes[0] = 0; /* nobody knows what it is: no image is its */
    assert_null(find(&machine));
    assert_int_equal(machine.image.finds, 1);
    machine.image.full = false;
    assert_ok(residency_image_keep(machine.made, &machine.images, NULL, &kept));
    assert_false(kept);
    machine.outline->identity.bytes[0] = 5;
    Device *small;
    assert_ok(device_open("sim:1,memory=64", &small));
    ResidencySource source = {.images = &machine.images};
    assert_fails(EXHAUSTED,
        residency_create_from(machine.outline, machine.cpu, small, NULL, &source, &residency));
    assert_null(residency);
    assert_int_equal(machine.image.discards, 0); /* it is not the image's fault */
    device_close(small);
    machine_deinit(&machine);
}

int test_residency_image(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residency_image_gives_the_same_residency),
        cmocka_unit_test(test_residency_image_is_made_anew_when_it_is_not_right),
        cmocka_unit_test(test_residency_image_that_breaks_is_a_lost_device),
        cmocka_unit_test(test_residency_image_has_its_limits),
    };
    return cmocka_run_group_tests_name("residency_image", tests, NULL, NULL);
}
