#include "scheduler/executor/job_point.h"

#include "base/allocator.h"
#include "tests/support/test_support.h"

static void make(JobPoint *out) {
    static const uint8_t manifest[] = {1, 2, 3, 4, 5};
    void *memory;
    *out = (JobPoint){.next_run = 3,
        .sequence = 8,
        .outputs.known = true,
        .manifest = manifest,
        .manifest_size = sizeof manifest};
    assert_ok(memory_alloc(1, sizeof(NamedArray), &memory));
    out->outputs.items = memory;
    out->outputs.count = 1;
    out->outputs.items[0].dtype = DTYPE_FLOAT32;
    out->outputs.items[0].shape = (Shape){.rank = 2, .dims = {4, 7}};
    assert_ok(memory_copy_text("y", &out->outputs.items[0].name));
}

static void test_job_point_round_trips(void **state) {
    (void)state;
    for (int with_manifest = 0; with_manifest < 2; with_manifest++) {
        JobPoint OWN_POINT(point) = {0};
        JobPoint OWN_POINT(back) = {0};
        ByteWriter OWN_BYTES(bytes) = {0};
        make(&point);
        if (!with_manifest) point.manifest = NULL;
        assert_ok(job_point_write(&point, &bytes));
        assert_ok(job_point_read(bytes.data, bytes.size, &back));
        assert_int_equal(back.next_run, 3);
        assert_int_equal(back.sequence, 8);
        assert_int_equal(back.outputs.count, 1);
        assert_string_equal(back.outputs.items[0].name, "y");
        assert_true(shape_equal(&back.outputs.items[0].shape, &point.outputs.items[0].shape));
        assert_int_equal(back.manifest_size, with_manifest ? 5 : 0);
        assert_int_equal(back.manifest != NULL, with_manifest);
    }
}

static void test_job_point_refuses_damage(void **state) {
    (void)state;
    JobPoint OWN_POINT(point) = {0};
    JobPoint back = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    make(&point);
    assert_ok(job_point_write(&point, &bytes));
    for (size_t size = 0; size < bytes.size; size++)
        assert_fails(CORRUPT, job_point_read(bytes.data, size, &back));
    bytes.data[23] |= 0x80; /* the number of its next output */
    assert_fails_saying(CORRUPT, "output -", job_point_read(bytes.data, bytes.size, &back));
    bytes.data[4] = 9;
    assert_fails(UNSUPPORTED, job_point_read(bytes.data, bytes.size, &back));
    assert_null(back.outputs.items);
}

int test_job_point(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_point_round_trips),
        cmocka_unit_test(test_job_point_refuses_damage),
    };
    return cmocka_run_group_tests_name("job_point", tests, NULL, NULL);
}
