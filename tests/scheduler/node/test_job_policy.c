#include "scheduler/node/job_policy.h"

#include "base/allocator.h"
#include "tests/support/test_support.h"

static void make(JobPolicy *out) {
    *out = (JobPolicy){.items = true,
        .batch = 7,
        .weight = 3,
        .checkpoint_keep = 2,
        .checkpoint_every_ns = 1000000007,
        .threads = 4,
        .check_finite = true,
        .random_key = 99,
        .items_before = 14};
    assert_ok(memory_copy_text("main", &out->function));
    assert_ok(memory_copy_text("sim:0", &out->device));
    assert_ok(memory_alloc(2, sizeof *out->shared, (void **)&out->shared));
    for (; out->shared_count < 2; out->shared_count++)
        assert_ok(memory_copy_text(
            out->shared_count ? "weights" : "mask", &out->shared[out->shared_count]));
}

static void test_job_policy_round_trips(void **state) {
    (void)state;
    JobPolicy OWN_POLICY(policy) = {0};
    JobPolicy OWN_POLICY(back) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    make(&policy);
    job_policy_write(&policy, &bytes);
    assert_ok(job_policy_read(bytes.data, bytes.size, &back));
    assert_string_equal(back.function, "main");
    assert_string_equal(back.device, "sim:0");
    assert_string_equal(back.shared[1], "weights");
    assert_true(back.items && back.check_finite);
    assert_int_equal(back.batch, 7);
    assert_int_equal(back.random_key, 99);
    assert_int_equal(back.items_before, 14);
    assert_int_equal(back.checkpoint_every_ns, 1000000007);
    job_policy_write(&back, &again);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
}

static void test_job_policy_refuses_damage(void **state) {
    (void)state;
    JobPolicy OWN_POLICY(policy) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    JobPolicy back = {0};
    make(&policy);
    job_policy_write(&policy, &bytes);
    for (size_t size = 0; size < bytes.size; size++)
        assert_fails(CORRUPT, job_policy_read(bytes.data, size, &back));
    assert_null(back.function);
    bytes.data[0] = 9;
    assert_fails(UNSUPPORTED, job_policy_read(bytes.data, bytes.size, &back));
    bytes.data[0] = 2;
    for (size_t i = 4; i < bytes.size; i++) {
        bytes.data[i] ^= 0x80;
        Error *error = job_policy_read(bytes.data, bytes.size, &back);
        if (!error) job_policy_deinit(&back); /* another number */
        error_free(error);
        bytes.data[i] ^= 0x80;
    }
}

/* Version 1 ended before what a job from a file and a suspension need. */
static void test_job_policy_reads_version_1(void **state) {
    (void)state;
    JobPolicy OWN_POLICY(policy) = {0};
    JobPolicy OWN_POLICY(back) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    make(&policy);
    job_policy_write(&policy, &bytes);
    bytes.data[0] = 1;
    assert_ok(job_policy_read(bytes.data, bytes.size - 24, &back));
    assert_int_equal(back.random_key, 99);
    assert_true(back.items_before == 0 && back.suspend_at == 0 && back.suspend_after_ns == 0);
}

static void test_job_policy_refuses_values_out_of_range(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        JobPolicy OWN_POLICY(policy) = {0};
        JobPolicy back = {0};
        ByteWriter OWN_BYTES(bytes) = {0};
        make(&policy);
        if (i == 0) policy.weight = JOB_POLICY_WEIGHT_MAX + 1;
        if (i == 1) policy.checkpoint_keep = JOB_POLICY_KEEP_MAX + 1;
        if (i == 2) policy.threads = JOB_POLICY_THREADS_MAX + 1;
        if (i == 3) policy.items_before = (uint64_t)INT64_MAX + 1;
        if (i == 4) policy.suspend_at = 1; /* of a batch */
        if (i == 5) policy.items = false;  /* 14 items before a single run */
        job_policy_write(&policy, &bytes);
        assert_fails(CORRUPT, job_policy_read(bytes.data, bytes.size, &back));
    }
    assert_int_equal(job_policy_suspend_ns(-1), 0);
    assert_int_equal(job_policy_suspend_ns(0), 1);
    assert_int_equal(job_policy_suspend_ns(2), 2000000);
}

static void test_job_policy_lets_no_batch_suspend_itself(void **state) {
    (void)state;
    JobPolicy policy = {.suspend_at = 1, .suspend_after_ns = 1};
    assert_ok(job_policy_check_suspension(&policy));
    policy.items = true;
    assert_fails_saying(INVALID, "batch job", job_policy_check_suspension(&policy));
    policy.suspend_at = 0;
    assert_fails(INVALID, job_policy_check_suspension(&policy));
    policy.suspend_after_ns = 0;
    assert_ok(job_policy_check_suspension(&policy));
}

int test_job_policy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_policy_round_trips),
        cmocka_unit_test(test_job_policy_refuses_damage),
        cmocka_unit_test(test_job_policy_reads_version_1),
        cmocka_unit_test(test_job_policy_lets_no_batch_suspend_itself),
        cmocka_unit_test(test_job_policy_refuses_values_out_of_range),
    };
    return cmocka_run_group_tests_name("job_policy", tests, NULL, NULL);
}
