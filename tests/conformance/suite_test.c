#include "tests/conformance/suite_test.h"

#include <stdlib.h>

static void report(const ConformanceFailure *failure, void *context) {
    (void)context;
    TextBuilder OWN_TEXT(text) = {0};
    conformance_failure_print(failure, &text);
    print_error("%s\n", text_builder_get(&text));
}

void suite_test(const char *spec, const char *check_name) {
    ConformanceDevice on;
    ConformanceTally tally = {0};
    const ConformanceCheckInfo *check = conformance_check_find(check_name);
    assert_non_null(check);
    assert_ok(conformance_device_open(spec, &on));
    conformance_suite_run(&on, check, NULL, report, NULL, &tally);
    conformance_device_deinit(&on);
    print_message("%s: %s: %u passed, %u failed, %u unsupported\n", spec, check_name, tally.passed,
        tally.failed, tally.unsupported);
    assert_int_equal(tally.failed, 0);
    assert_true(tally.passed > 0);
}

static bool is_taken(const ConformanceCase *row, uint32_t dtype) {
    return row->reference && case_table_dtypes(row) >> dtype & 1;
}

/* 0 when the device refuses the call. */
static uint64_t hash_of(Device *device, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    uint64_t hash = 0;
    conformance_prepare(device, row, dtype, &run);
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    if (!error)
        hash = conformance_hash(&run);
    else if (error_code(error) != ERROR_UNSUPPORTED)
        fail_msg("%s:%d: %s", case_table_file(row), row->line, error_message(error));
    error_free(error);
    conformance_run_deinit(&run);
    return hash;
}

/* Runs all rows on the device. wanted NULL: puts their digests to out_hashes; else compares them.
 */
static void run_rows(const char *spec, const SuiteBits *wanted, uint64_t *out_hashes) {
    ConformanceDevice on;
    uint32_t done = 0;
    assert_ok(conformance_device_open(spec, &on));
    for (uint32_t i = 0; i < case_table_count; i++)
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const ConformanceCase *row = &case_table[i];
            const uint32_t place = i * DTYPE_COUNT + dtype;
            if (!is_taken(row, dtype)) continue;
            const uint64_t hash = hash_of(on.device, row, (DType)dtype);
            if (!wanted)
                out_hashes[place] = hash;
            else if (hash != wanted->hashes[place])
                fail_msg("%s:%d: %s %s %s: %s and %s make different bits", case_table_file(row),
                    row->line, row->operator_name, row->attributes, dtype_name((DType)dtype), spec,
                    wanted->spec);
            done += hash != 0;
        }
    conformance_device_deinit(&on);
    assert_true(done > 0);
}

void suite_bits_take(const char *spec, SuiteBits *out) {
    *out = (SuiteBits){spec, calloc((size_t)case_table_count * DTYPE_COUNT, sizeof *out->hashes)};
    assert_non_null(out->hashes);
    run_rows(spec, NULL, out->hashes);
}

void suite_bits_deinit(SuiteBits *bits) { free(bits->hashes); }

void suite_bits_test(const SuiteBits *bits, const char *spec) { run_rows(spec, bits, NULL); }
