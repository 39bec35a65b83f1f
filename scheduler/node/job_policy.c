#include "scheduler/node/job_policy.h"

#include "base/allocator.h"

enum { VERSION = 2, TEXT_BYTES_MIN = 4 };

uint64_t job_policy_suspend_ns(int64_t milliseconds) {
    if (milliseconds < 0) return 0;
    return milliseconds > 0 ? (uint64_t)milliseconds * 1000000 : 1;
}

Error *job_policy_check_suspension(const JobPolicy *policy) {
    if (policy->items && (policy->suspend_at || policy->suspend_after_ns))
        FAIL(INVALID, "suspend_after: a batch job is suspended by `layover suspend`");
    return NULL;
}

BatchOptions job_policy_batch_options(const JobPolicy *policy) {
    return (BatchOptions){.items = policy->items,
        .size = policy->batch,
        .shared = (const char *const *)policy->shared,
        .shared_count = policy->shared_count,
        .items_before = (int64_t)policy->items_before};
}

ExecutionOptions job_policy_execution_options(const JobPolicy *policy) {
    return (ExecutionOptions){.threads = policy->threads,
        .check_finite = policy->check_finite,
        .philox_key = policy->random_key};
}

void job_policy_deinit(JobPolicy *policy) {
    memory_free(policy->function);
    memory_free(policy->device);
    for (uint32_t i = 0; i < policy->shared_count; i++) memory_free(policy->shared[i]);
    memory_free(policy->shared);
    *policy = (JobPolicy){0};
}

void job_policy_write(const JobPolicy *policy, ByteWriter *writer) {
    byte_write_u32(writer, VERSION);
    byte_write_text(writer, policy->function);
    byte_write_text(writer, policy->device);
    byte_write_u8(writer, policy->items);
    byte_write_u64(writer, policy->batch);
    byte_write_u32(writer, policy->shared_count);
    for (uint32_t i = 0; i < policy->shared_count; i++) byte_write_text(writer, policy->shared[i]);
    byte_write_u64(writer, policy->weight);
    byte_write_u64(writer, policy->checkpoint_keep);
    byte_write_u64(writer, policy->checkpoint_every_ns);
    byte_write_u32(writer, policy->threads);
    byte_write_u8(writer, policy->check_finite);
    byte_write_u64(writer, policy->random_key);
    byte_write_u64(writer, policy->items_before);
    byte_write_u64(writer, policy->suspend_at);
    byte_write_u64(writer, policy->suspend_after_ns);
}

static Error *read_flag(ByteReader *reader, bool *out) {
    uint8_t byte;
    TRY(byte_read_u8(reader, &byte));
    if (byte > 1) FAIL(CORRUPT, "a flag of %u", byte);
    *out = byte;
    return NULL;
}

static Error *read_inputs(ByteReader *reader, JobPolicy *out) {
    uint32_t count;
    TRY(read_flag(reader, &out->items));
    TRY(byte_read_u64(reader, &out->batch));
    TRY(byte_read_count(reader, TEXT_BYTES_MIN, &count));
    if (count > JOB_POLICY_SHARED_MAX) FAIL(CORRUPT, "%u shared inputs", count);
    if (count > 0) TRY(memory_alloc(count, sizeof *out->shared, (void **)&out->shared));
    for (; out->shared_count < count; out->shared_count++)
        TRY(byte_read_text(reader, JOB_POLICY_NAME_MAX, &out->shared[out->shared_count]));
    return NULL;
}

/* Reads the fields that version 1 did not have. */
static Error *read_added(ByteReader *reader, JobPolicy *out) {
    TRY(byte_read_u64(reader, &out->items_before));
    TRY(byte_read_u64(reader, &out->suspend_at));
    TRY(byte_read_u64(reader, &out->suspend_after_ns));
    if (out->items_before > (out->items ? INT64_MAX : 1) ||
        (out->items && (out->suspend_at > 0 || out->suspend_after_ns > 0)))
        FAIL(CORRUPT, "items before, or a suspension, of another kind of job");
    return NULL;
}

static Error *read_all(ByteReader *reader, JobPolicy *out) {
    uint32_t version;
    TRY(byte_read_u32(reader, &version));
    if (version < 1 || version > VERSION)
        FAIL(UNSUPPORTED, "version %u; this program reads up to version %d", version, VERSION);
    TRY(byte_read_text(reader, JOB_POLICY_NAME_MAX, &out->function));
    TRY(byte_read_text(reader, JOB_POLICY_NAME_MAX, &out->device));
    TRY(read_inputs(reader, out));
    TRY(byte_read_u64(reader, &out->weight));
    TRY(byte_read_u64(reader, &out->checkpoint_keep));
    TRY(byte_read_u64(reader, &out->checkpoint_every_ns));
    TRY(byte_read_u32(reader, &out->threads));
    TRY(read_flag(reader, &out->check_finite));
    TRY(byte_read_u64(reader, &out->random_key));
    if (version > 1) TRY(read_added(reader, out));
    if (out->weight < 1 || out->weight > JOB_POLICY_WEIGHT_MAX || out->checkpoint_keep < 1 ||
        out->checkpoint_keep > JOB_POLICY_KEEP_MAX || out->threads > JOB_POLICY_THREADS_MAX)
        FAIL(CORRUPT, "a weight, or a count of checkpoints or threads, out of range");
    return byte_reader_check_end(reader);
}

Error *job_policy_read(const void *bytes, size_t size, JobPolicy *out_policy) {
    JobPolicy OWN_POLICY(policy) = {0};
    ByteReader reader = byte_reader(bytes, size);
    TRY_WRAP(read_all(&reader, &policy), "job policy");
    *out_policy = policy;
    policy = (JobPolicy){0};
    return NULL;
}

Error *job_policy_check(void *context, const void *bytes, size_t size) {
    JobPolicy OWN_POLICY(policy) = {0};
    (void)context;
    return job_policy_read(bytes, size, &policy);
}
