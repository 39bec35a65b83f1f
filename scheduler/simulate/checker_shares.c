#include "base/duration.h"
#include "scheduler/simulate/checker_internal.h"

typedef unsigned long long Number;
typedef CheckTime Wide;

/* Pairs of tenants are compared only where they are this many. */
enum { SHARES_TENANTS_MAX = 64 };

void checker_shares_restart(Checker *checker, PolicyClass class_) {
    if (checker->sizes.device_count != 1 || checker->sizes.tenant_count > SHARES_TENANTS_MAX)
        return;
    for (uint64_t i = 0; i < checker->sizes.tenant_count; i++)
        checker->tenants[i].shares[class_].served_ns = 0;
}

/* The weight is that of the moment when the tenant began to wait; a change takes effect with the
 * next one. */
void checker_contend(Checker *checker, const CheckJob *job, int change) {
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    CheckShare *share = &tenant->shares[job->class_];
    CheckTime *fair = &checker->fair[job->class_];
    if (change > 0 && share->could_run++ == 0) {
        share->since = *fair;
        share->weight = tenant->sums.weight;
        checker->contended_weight[job->class_] += share->weight;
    } else if (change < 0 && --share->could_run == 0) {
        tenant->sums.entitled_ns += (uint64_t)((*fair - share->since) * share->weight >> 20);
        checker->contended_weight[job->class_] -= share->weight;
    }
}

static void contended_slice(Checker *checker, const CheckJob *job, uint64_t slice_ns) {
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    if (!tenant->shares[job->class_].could_run) return;
    tenant->sums.contended_ns += slice_ns;
    checker->fair[job->class_] +=
        ((CheckTime)slice_ns << 20) / checker->contended_weight[job->class_];
}

static uint64_t slice_limit(const Checker *checker) {
    return checker->config.quantum_ns + checker->sizes.kernel_ns;
}

/* a/x - b/y <= slice/x + slice/y, without dividing. */
static bool in_bound(const CheckTenantState *more, const CheckTenantState *less, PolicyClass class_,
    uint64_t slice_ns) {
    Wide a = (Wide)more->shares[class_].served_ns * less->sums.weight;
    Wide b = (Wide)less->shares[class_].served_ns * more->sums.weight;
    return a <= b + (Wide)slice_ns * (more->sums.weight + less->sums.weight);
}

static void check_shares(Checker *checker, const CheckJob *job) {
    if (checker->sizes.device_count != 1 || checker->sizes.tenant_count > SHARES_TENANTS_MAX)
        return;
    PolicyClass class_ = (PolicyClass)job->class_;
    const CheckTenantState *more = &checker->tenants[job->tenant];
    for (uint64_t i = 0; i < checker->sizes.tenant_count; i++) {
        const CheckTenantState *less = &checker->tenants[i];
        if (!less->shares[class_].ready || less == more || !more->shares[class_].ready) continue;
        if (!in_bound(more, less, class_, slice_limit(checker)))
            checker_violate(checker,
                "shares: tenant %u had %llu ns at weight %llu, tenant %llu "
                "%llu ns at weight %llu, both ready all the time",
                job->tenant, (Number)more->shares[class_].served_ns, (Number)more->sums.weight,
                (Number)i, (Number)less->shares[class_].served_ns, (Number)less->sums.weight);
    }
}

static void check_floors(Checker *checker, uint64_t device_id, PolicyClass ran, uint64_t slice_ns) {
    CheckDevice *device = &checker->devices[device_id];
    uint64_t permille = checker->config.floor_permille;
    uint64_t window = checker->config.floor_window_ns / 1000 * permille;
    uint64_t slice = slice_limit(checker);
    if (window < slice) window = slice;
    int64_t late = (int64_t)(window / 2 + 4 * slice);
    for (int i = POLICY_HIGH + 1; i < POLICY_CLASS_COUNT; i++) {
        if (!device->ready[i]) continue;
        device->owed_ns[i] += (int64_t)(slice_ns * permille / 1000);
        if (i == (int)ran) device->owed_ns[i] -= (int64_t)slice_ns;
        if (device->owed_ns[i] < device->owed_least_ns[i])
            device->owed_least_ns[i] = device->owed_ns[i];
        if (device->owed_ns[i] - device->owed_least_ns[i] > late)
            checker_violate(checker, "floors: class %d of device %llu is owed %lld ns", i,
                (Number)device_id, (long long)(device->owed_ns[i] - device->owed_least_ns[i]));
    }
}

static void check_hour(
    Checker *checker, CheckTenantState *tenant, uint32_t number, uint64_t slice_ns) {
    uint64_t minute = checker->now_ns / MINUTE_NS;
    uint64_t limit = tenant->limits[POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR];
    for (uint64_t i = 0; tenant->minute < minute && i < CHECK_MINUTES; i++) {
        uint64_t *oldest = &tenant->minutes[++tenant->minute % CHECK_MINUTES];
        tenant->hour_ns -= *oldest;
        *oldest = 0;
    }
    tenant->minute = minute;
    tenant->minutes[minute % CHECK_MINUTES] += slice_ns;
    tenant->hour_ns += slice_ns;
    Wide most = (Wide)limit * SECOND_NS + (Wide)checker->sizes.kernel_ns * tenant->slices_most;
    if (limit != POLICY_NO_LIMIT && tenant->hour_ns > most)
        checker_violate(checker, "job %u: quota device_seconds_per_hour: %llu ns", number,
            (Number)tenant->hour_ns);
}

void checker_shares_slice(
    Checker *checker, uint32_t number, uint64_t device_id, uint64_t slice_ns) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    tenant->slices--;
    tenant->sums.device_ns += slice_ns;
    contended_slice(checker, job, slice_ns);
    tenant->shares[job->class_].served_ns += slice_ns;
    check_shares(checker, job);
    check_floors(checker, device_id, (PolicyClass)job->class_, slice_ns);
    check_hour(checker, tenant, number, slice_ns);
}
