#include "tests/conformance/resume_check.h"

#include <stdio.h>

#include "kernels/registry/device_registry.h"
#include "serialize/container/executable_file.h"
#include "serialize/arrays/npz.h"
#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

/* y = -2x, in a loop, on the device */
static const char program[] =
    "primitive %neg = Neg\nprimitive %add = Add\n"
    "function main(x: float32[2]) -> (y: float32[2]) exported last_uses {\n"
    " LoadConsti 3 -> r1\n"
    "head:\n If r1, 0, done, body\n"
    "body:\n InvokePacked %neg r0 -> r0\n IntOp sub, r1, 1 -> r1\n Goto head\n"
    "done:\n InvokePacked %add r0, r0 -> r0\n Ret r0\n}\n";

static void add_floats(ArrayList *list, const char *name, float first, float second) {
    int64_t two = 2;
    Shape shape = shape_make(1, &two);
    NamedArray array;
    assert_ok(named_array_init(&array, name, DTYPE_FLOAT32, &shape));
    memcpy(array.data, (float[]){first, second}, 2 * sizeof(float));
    assert_ok(array_list_add(list, &array));
}

static void write_arrays(
    const char *folder, const char *file, const char *name, float first, float second) {
    char path[128];
    ArrayList OWN_ARRAYS(list) = {0};
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    add_floats(&list, name, first, second);
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(file_output_create(path, &output));
    assert_ok(npz_writer_create(output, &writer));
    assert_ok(npz_writer_add(writer, &list.items[0]));
    assert_ok(npz_writer_finish(writer));
    assert_ok(file_output_commit(output));
}

static void write_model(const char *folder) {
    char path[128];
    OWN(Executable, executable) = NULL;
    assert_ok(assembly_parse(program, strlen(program), &executable));
    (void)snprintf(path, sizeof path, "%s/twice.lvx", folder);
    assert_ok(executable_write_file(executable, NULL, path));
    write_arrays(folder, "twice.one.npz", "x", 1, -3);
    write_arrays(folder, "twice.one.expected.npz", "y", -2, 6);
    write_arrays(folder, "twice.wrong.npz", "x", 1, -3);
    write_arrays(folder, "twice.wrong.expected.npz", "y", -2, 6.1f);
}

/* At every instruction, and between devices of one class and of two. */
static void test_resume_check_passes_wherever_it_stops(void **state) {
    (void)state;
    char folder[64];
    ResumeModel model;
    OWN(Device, cpu) = NULL;
    test_folder_create(folder);
    write_model(folder);
    assert_ok(device_open("cpu", &cpu));
    assert_ok(resume_model_open(folder, "twice.one", &model));
    for (const char *const *spec = (const char *const[]){"sim:0", "sim:0,lacks=*", NULL}; *spec;
         spec++) {
        OWN(Device, sim) = NULL;
        ResumePlace at_cpu, at_sim;
        assert_ok(device_open(*spec, &sim));
        assert_ok(resume_place_open(&model, cpu, cpu, &at_cpu));
        assert_ok(resume_place_open(&model, cpu, sim, &at_sim));
        assert_true(at_cpu.instructions > 10 && at_cpu.instructions == at_sim.instructions);
        for (uint64_t stop = 1; stop < at_cpu.instructions; stop++) {
            assert_ok(resume_check(&model, &at_cpu, &at_sim, stop));
            assert_ok(resume_check(&model, &at_sim, &at_cpu, stop));
            assert_ok(resume_check(&model, &at_sim, &at_sim, stop));
        }
        assert_fails_saying(INTERNAL, "does not stop",
            resume_check(&model, &at_cpu, &at_sim, at_cpu.instructions + 1));
        resume_place_deinit(&at_sim);
        resume_place_deinit(&at_cpu);
    }
    resume_model_deinit(&model);
    test_folder_remove(folder);
}

/* Other outputs on the way are found: here the straight run is what was tampered with. */
static void test_resume_check_finds_other_outputs(void **state) {
    (void)state;
    char folder[64];
    ResumeModel model;
    ResumePlace place;
    OWN(Device, cpu) = NULL;
    test_folder_create(folder);
    write_model(folder);
    assert_ok(device_open("cpu", &cpu));
    assert_ok(resume_model_open(folder, "twice.wrong", &model));
    assert_fails_saying(INTERNAL, "run on cpu: y: element 1 is 6, not",
        resume_place_open(&model, cpu, cpu, &place));
    resume_model_deinit(&model);
    assert_ok(resume_model_open(folder, "twice.one", &model));
    assert_ok(resume_place_open(&model, cpu, cpu, &place));
    place.straight.items[0].data[0] ^= 1;
    assert_fails_saying(INTERNAL, "y has other bits", resume_check(&model, &place, &place, 2));
    resume_place_deinit(&place);
    resume_model_deinit(&model);
    assert_fails(NOT_FOUND, resume_model_open(folder, "twice.none", &model));
    assert_fails(NOT_FOUND, resume_model_open(folder, "thrice.one", &model));
    test_folder_remove(folder);
}

static void test_resume_compare_is_exact_or_near(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(made) = {0};
    ArrayList OWN_ARRAYS(near) = {0};
    ArrayList OWN_ARRAYS(other) = {0};
    ArrayList OWN_ARRAYS(none) = {0};
    add_floats(&made, "y", 1000, 0);
    add_floats(&near, "y", 1000.5f, 0.00005f);
    add_floats(&other, "z", 1000, 0);
    assert_ok(resume_compare(&made, &made, true));
    assert_ok(resume_compare(&made, &near, false));
    assert_fails_saying(INTERNAL, "y has other bits", resume_compare(&made, &near, true));
    assert_fails_saying(INTERNAL, "no output z", resume_compare(&made, &other, false));
    assert_fails_saying(INTERNAL, "1 outputs, not 0", resume_compare(&made, &none, false));
    near.items[0].shape.dims[0] = 1;
    near.items[0].size = sizeof(float);
    assert_fails_saying(INTERNAL, "another type or shape", resume_compare(&made, &near, false));
    near.items[0].shape.dims[0] = 2;
    near.items[0].size = 2 * sizeof(float);
    made.items[0].dtype = near.items[0].dtype = DTYPE_INT32;
    assert_fails_saying(INTERNAL, "y has other elements", resume_compare(&made, &near, false));
}

int test_resume_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_check_passes_wherever_it_stops),
        cmocka_unit_test(test_resume_check_finds_other_outputs),
        cmocka_unit_test(test_resume_compare_is_exact_or_near),
    };
    return cmocka_run_group_tests_name("resume_check", tests, NULL, NULL);
}
