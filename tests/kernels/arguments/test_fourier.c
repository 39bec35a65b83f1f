#include "kernels/arguments/fourier.h"

#include "tests/kernels/fixtures/infer_fixture.h"

static FourierArguments dft(const char *attributes, const char *inputs) {
    InferFixture fixture;
    FourierArguments out;
    infer_fixture_init(&fixture, "DFT", attributes, inputs, 1);
    assert_ok(fourier_of_dft(&fixture.request, &out));
    infer_fixture_deinit(&fixture);
    return out;
}

static void test_a_dft_reads_what_there_is_and_zeros_behind(void **state) {
    (void)state;
    FourierArguments plain = dft(NULL, "float32[2,10,1]");
    assert_int_equal(plain.axis, 1);
    assert_int_equal(plain.length, 10);
    assert_int_equal(plain.taken, 10);
    assert_int_equal(plain.bins, 10);
    FourierArguments longer = dft("{onesided=1}", "float32[2,10,1] int64[]=13");
    assert_int_equal(longer.taken, 10);
    assert_int_equal(longer.bins, 7);
    FourierArguments half = dft("{onesided=1, inverse=1}", "float32[6,2]");
    assert_int_equal(half.length, 10);
    assert_int_equal(half.taken, 6);
    assert_true(half.half_input && half.real_output);
    FourierArguments shorter = dft("{onesided=1, inverse=1}", "float32[6,2] int64[]=5");
    assert_int_equal(shorter.taken, 3);
}

static void test_an_stft_has_as_many_frames_as_fit(void **state) {
    InferFixture fixture;
    FourierArguments out;
    (void)state;
    infer_fixture_init(
        &fixture, "STFT", NULL, "float32[3,100,1] int64[]=9 float32[16] int64[]=16", 1);
    assert_ok(fourier_of_stft(&fixture.request, &out));
    assert_int_equal(out.frames, 10);
    assert_int_equal(out.step, 9);
    assert_int_equal(out.bins, 9);
    infer_fixture_deinit(&fixture);
}

static void test_mel_arguments_are_numbers_of_any_float_type(void **state) {
    InferFixture fixture;
    MelArguments out;
    (void)state;
    infer_fixture_init(&fixture, "MelWeightMatrix", NULL,
        "int32[]=8 int64[1]=16 int64[]=100 float64[]=0 float64[1]=50", 1);
    assert_ok(fourier_mel_arguments(&fixture.request, &out));
    assert_int_equal(out.bands, 8);
    assert_true(out.low == 0 && out.high == 50);
    infer_fixture_deinit(&fixture);
}

int test_fourier(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dft_reads_what_there_is_and_zeros_behind),
        cmocka_unit_test(test_an_stft_has_as_many_frames_as_fit),
        cmocka_unit_test(test_mel_arguments_are_numbers_of_any_float_type),
    };
    return cmocka_run_group_tests_name("fourier", tests, NULL, NULL);
}
