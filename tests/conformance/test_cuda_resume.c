/* A loop whose turns are graphs, stopped at every instruction. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/registry/device_registry.h"
#include "serialize/arrays/array_values.h"
#include "tests/conformance/resume_check.h"
#include "tests/support/fake_cuda/fake_control.h"
#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

enum { COUNT = 8, TURNS = 6 };

/* y = 2x in each turn; then it is read, as a loop's condition would be. The product is cuBLASLt's.
 */
static const char program[] =
    "constant @one slot 1 = float32[1, 1] {1}\n"
    "primitive %neg = Neg\nprimitive %add = Add\nprimitive %mul = MatMul\n"
    "function main(x: float32[8, 1]) -> (y: float32[8, 1]) exported last_uses {\n"
    " LoadConsti 6 -> r1\n"
    "head:\n If r1, 0, done, body\n"
    "body:\n InvokePacked %neg r0 -> r0\n InvokePacked %add r0, r0 -> r0\n"
    " InvokePacked %mul r0, @one -> r0\n InvokePacked %neg r0 -> r0\n"
    " InvokePacked %add r0, r0 -> r2\n InvokePacked %neg r0 -> r3\n InvokePacked %add r2, r3 -> "
    "r0\n"
    " DeviceCopy r0, 0 -> r2\n IntOp sub, r1, 1 -> r1\n Goto head\n"
    "done:\n Ret r0\n}\n";

static void make_array(const char *name, float factor, NamedArray *out) {
    const int64_t dims[] = {COUNT, 1};
    Shape shape = shape_make(2, dims);
    assert_ok(named_array_init(out, name, DTYPE_FLOAT32, &shape));
    for (int i = 0; i < COUNT; i++) ((float *)out->data)[i] = factor * (float)(i - 3);
}

static void make_model(ResumeModel *model) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    NamedArray array;
    *model = (ResumeModel){.input_count = 1};
    assert_ok(assembly_parse(program, strlen(program), &model->executable));
    assert_ok(executable_find_function(model->executable, "main", &model->function));
    make_array("x", 1, &array);
    assert_ok(array_list_add(&inputs, &array));
    const Function *function = &model->executable->functions[model->function];
    assert_ok(array_values_bind(&inputs, function, &model->inputs));
    make_array("y", 1 << TURNS, &array);
    assert_ok(array_list_add(&model->expected, &array));
}

/* There with graphs; from here on with them and without, and on the cpu. */
static void check_everywhere(const ResumeModel *model, Device *cpu) {
    static const char *const specs[] = {
        "cuda:0,graphs=on", "cuda:0", "cuda:0,graphs=on,worker=process"};
    Device *devices[3] = {NULL};
    ResumePlace places[3], at_cpu;
    assert_ok(resume_place_open(model, cpu, cpu, &at_cpu));
    for (int i = 0; i < 3; i++) {
        assert_ok(device_open(specs[i], &devices[i]));
        assert_ok(resume_place_open(model, cpu, devices[i], &places[i]));
        assert_ok(resume_compare(&places[i].straight, &places[0].straight, true));
    }
    for (uint64_t stop = 1; stop < at_cpu.instructions; stop++) {
        for (int i = 0; i < 3; i++) assert_ok(resume_check(model, &places[0], &places[i], stop));
        assert_ok(resume_check(model, &places[0], &at_cpu, stop));
        assert_ok(resume_check(model, &at_cpu, &places[0], stop));
    }
    for (int i = 0; i < 3; i++) {
        resume_place_deinit(&places[i]);
        device_close(devices[i]);
    }
    resume_place_deinit(&at_cpu);
}

static void test_cuda_resume_goes_on_with_graphs_and_without(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    ResumeModel model;
    make_model(&model);
    assert_ok(device_open("cpu", &cpu));
    check_everywhere(&model, cpu);
    const FakeControl *control = fake_control_find();
    assert_true(control->updates > 0);
    assert_int_equal(control->mistakes, 0);
    assert_int_equal(control->graphs, 0);
    resume_model_deinit(&model);
}

/* In the straight run, behind two turns that are new. */
static void test_cuda_resume_runs_a_turn_as_one_launch(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(Device, cuda) = NULL;
    ResumeModel model;
    ResumePlace place;
    make_model(&model);
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("cuda:0,graphs=on", &cuda));
    const FakeControl *control = fake_control_find(), before = *control;
    assert_ok(resume_place_open(&model, cpu, cuda, &place));
    assert_int_equal(control->graph_launches - before.graph_launches, TURNS - 2);
    assert_int_equal(control->instantiations - before.instantiations, 1);
    assert_int_equal(control->updates - before.updates, TURNS - 3);
    resume_place_deinit(&place);
    resume_model_deinit(&model);
}

/* The device is lost at each launch of a run in turn. */
static void test_cuda_resume_is_told_of_a_lost_device(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    ResumeModel model;
    char text[16];
    make_model(&model);
    assert_ok(device_open("cpu", &cpu));
    for (int launch = 1; launch <= TURNS * 6; launch += 5) {
        OWN(Device, cuda) = NULL;
        ResumePlace place;
        (void)snprintf(text, sizeof text, "%d", launch);
        assert_int_equal(setenv("FAKE_CUDA_LOSE_AFTER", text, 1), 0);
        assert_ok(device_open("cuda:0,graphs=on", &cuda));
        assert_int_equal(unsetenv("FAKE_CUDA_LOSE_AFTER"), 0);
        assert_fails_saying(
            DEVICE_LOST, "cuda:0 is lost", resume_place_open(&model, cpu, cuda, &place));
    }
    assert_int_equal(fake_control_find()->graphs, 0);
    resume_model_deinit(&model);
}

int test_cuda_resume(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_resume_runs_a_turn_as_one_launch),
        cmocka_unit_test(test_cuda_resume_goes_on_with_graphs_and_without),
        cmocka_unit_test(test_cuda_resume_is_told_of_a_lost_device),
    };
    return cmocka_run_group_tests_name("cuda_resume", tests, NULL, NULL);
}
