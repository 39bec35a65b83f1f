#include "tests/kernels/fixtures/infer_fixture.h"

static void test_transforms_say_what_they_refuse(void **state) {
    static const InferRow rows[] = {
        {"DFT", NULL, "float32[2,10,1]", "float32[2, 10, 2]"},
        {"DFT", "{onesided=1}", "float16[2,10,3,1] - int64[]=1", "float16[2, 6, 3, 2]"},
        {"DFT", "{onesided=1, inverse=1}", "float64[2,6,2]", "float64[2, 10, 1]"},
        {"DFT", NULL, "int32[2,10,1]", "! input 0 is int32"},
        {"DFT", NULL, "float32[10]", "! an input of rank 1"},
        {"DFT", NULL, "float32[10,3]", "! a last dimension of 3, not 1 (real) or 2 (complex)"},
        {"DFT", NULL, "float32[2,10,1] - int64[]=2", "! axis 2 holds the parts of a number"},
        {"DFT", NULL, "float32[2,10,1] - int64[]=3", "! axis"},
        {"DFT", "{onesided=1}", "float32[2,10,2]", "! onesided with complex input"},
        {"DFT", "{onesided=1, inverse=1}", "float32[2,10,1]", "! onesided with real input"},
        {"DFT", "{onesided=1, inverse=1}", "float32[2,0,2]", "! half a spectrum of 0"},
        {"DFT", NULL, "float32[2,10,1] int64[]=0", "! a transform of length 0"},
        {"DFT", NULL, "float32[2,10,1] int64[]=2199023255552", "! a transform of length 219902"},
        {"DFT", NULL, "float32[2,10,1] int64[2]=4,4", "! input 1 is not one number"},
        {"STFT", NULL, "float32[3,100,1] int64[]=9 float32[16]", "float32[3, 10, 9, 2]"},
        {"STFT", "{onesided=0}", "float32[3,100,2] int64[]=9", "float32[3, 1, 100, 2]"},
        {"STFT", NULL, "float32[3,100,2] int64[]=9", "! onesided with complex input"},
        {"STFT", NULL, "float32[3,100] int64[]=9", "! a signal of rank 2, not 3"},
        {"STFT", NULL, "float32[3,100,1] int64[]=9 float32[4,4]", "! a window of rank 2, not 1"},
        {"STFT", NULL, "float32[3,100,1] int64[]=9 float64[4]", "! input 0 is float32, input 2 is"},
        {"STFT", NULL, "float32[3,100,1] int64[]=9 float32[4] int64[]=5",
            "! frame_length 5 with a window of 4"},
        {"STFT", NULL, "float32[3,100,1] int64[]=0 float32[4]", "! frame_step 0"},
        {"STFT", NULL, "float32[3,3,1] int64[]=1 float32[4]", "! frames of 4 in a signal of 3"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_windows_say_what_they_refuse(void **state) {
    static const InferRow rows[] = {
        {"HannWindow", NULL, "int64[]=7", "float32[7]"},
        {"HannWindow", "{output_datatype=int8}", "int32[1]=7", "int8[7]"},
        {"HannWindow", NULL, "int64[]=-1", "! size -1"},
        {"HannWindow", NULL, "float32[]=7", "! input 0 is float32"},
        {"BlackmanWindow", "{output_datatype=bool}", "int64[]=7", "! output_datatype bool"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=16 int64[]=100 float32[]=0 float32[]=50",
            "float32[9, 8]"},
        {"MelWeightMatrix", NULL, "int64[]=0 int64[]=16 int64[]=100 float32[]=0 float32[]=50",
            "! num_mel_bins 0"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=0 int64[]=100 float32[]=0 float32[]=50",
            "! a transform of length 0"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=16 int64[]=0 float32[]=0 float32[]=50",
            "! sample_rate 0"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=16 int64[]=100 float32[]=0 float32[]=51",
            "! edges of 0 and 51 hertz at 100 samples a second"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=16 int64[]=100 float32[]=0 int64[]=5",
            "! input 4 is int64, not a float type"},
        {"MelWeightMatrix", NULL, "int64[]=8 int64[]=16 int64[]=100 float32[0] float32[]=5",
            "! input 3 is not one number"},
        {"MelWeightMatrix", NULL, "float32[]=8 int64[]=16 int64[]=100 float32[]=0 float32[]=5",
            "! input 0 is float32"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_signal(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms_say_what_they_refuse),
        cmocka_unit_test(test_windows_say_what_they_refuse),
    };
    return cmocka_run_group_tests_name("shape_signal", tests, NULL, NULL);
}
