#include "scheduler/simulate/deadline_checker.h"

#include <string.h>

#include "base/allocator.h"

/* How many slices each other tenant may be ahead when a job becomes ready: those that an awake
 * account without a job to hand out may have saved, and a margin. */
enum { AHEAD_SLICES = 12 };

__extension__ typedef unsigned __int128 Wide;

struct DeadlineChecker {
    DeadlineJob *jobs; /* by deadline */
    size_t count, capacity;
    uint64_t *weights;
    uint64_t tenant_count, weight_sum;
    uint64_t slice_ns, floor_permille, window_ns;
    bool seen[POLICY_CLASS_COUNT];
};

Error *deadline_checker_create(uint64_t tenant_count, DeadlineChecker **out_checker) {
    void *memory;
    TRY(memory_alloc(1, sizeof(DeadlineChecker), &memory));
    OWN(DeadlineChecker, checker) = memory;
    TRY(memory_alloc(tenant_count + 1, sizeof(uint64_t), &memory));
    checker->weights = memory;
    checker->tenant_count = tenant_count;
    *out_checker = TAKE(checker);
    return NULL;
}

void deadline_checker_release(DeadlineChecker *checker) {
    if (!checker) return;
    memory_free(checker->jobs);
    memory_free(checker->weights);
    memory_free(checker);
}

/* Stops judging jobs that were promised an end under another share. */
static void forget(DeadlineChecker *checker) {
    for (size_t i = 0; i < checker->count; i++) checker->jobs[i].feasible = false;
}

void deadline_checker_set_weight(DeadlineChecker *checker, uint64_t tenant, uint64_t weight) {
    checker->weight_sum += weight - checker->weights[tenant];
    checker->weights[tenant] = weight;
    forget(checker);
}

void deadline_checker_set_config(
    DeadlineChecker *checker, const PolicyEvent *config, uint64_t slice_ns) {
    checker->slice_ns = slice_ns;
    checker->floor_permille = config->floor_permille;
    checker->window_ns = config->floor_window_ns;
    forget(checker);
}

void deadline_checker_see_class(DeadlineChecker *checker, PolicyClass class_) {
    if (!checker->seen[class_])
        for (size_t i = 0; i < checker->count; i++)
            if (checker->jobs[i].class_ > class_) checker->jobs[i].feasible = false;
    checker->seen[class_] = true;
}

static uint64_t share_permille(const DeadlineChecker *checker, PolicyClass class_) {
    for (int i = 0; i < (int)class_; i++)
        if (checker->seen[i]) return checker->floor_permille;
    return 1000 - checker->floor_permille * (uint64_t)(POLICY_CLASS_COUNT - 1 - (int)class_);
}

static void judge(DeadlineChecker *checker, uint64_t tenant, PolicyClass class_, uint64_t now_ns) {
    uint64_t permille = share_permille(checker, class_), sum = 0;
    uint64_t floors = checker->window_ns / 1000 * checker->floor_permille;
    Wide late = (Wide)checker->slice_ns * AHEAD_SLICES * checker->tenant_count + 2 * floors;
    for (size_t i = 0; i < checker->count; i++) {
        DeadlineJob *job = &checker->jobs[i];
        if (job->tenant != tenant || job->class_ != class_) continue;
        sum += job->left_ns;
        Wide need =
            ((Wide)sum + 2 * checker->slice_ns) * checker->weight_sum / checker->weights[tenant];
        if (!permille || need * 1000 / permille + late + now_ns > job->deadline_ns)
            job->feasible = false;
    }
}

Error *deadline_checker_enter(DeadlineChecker *checker, const DeadlineJob *job, uint64_t now_ns) {
    void *memory = checker->jobs;
    TRY(memory_grow(&memory, checker->count, &checker->capacity, sizeof *checker->jobs));
    checker->jobs = memory;
    size_t at = checker->count++;
    while (at > 0 && checker->jobs[at - 1].deadline_ns > job->deadline_ns) {
        checker->jobs[at] = checker->jobs[at - 1];
        at--;
    }
    checker->jobs[at] = *job;
    checker->jobs[at].feasible = true;
    judge(checker, job->tenant, job->class_, now_ns);
    return NULL;
}

static DeadlineJob *find(const DeadlineChecker *checker, uint64_t job) {
    for (size_t i = 0; i < checker->count; i++)
        if (checker->jobs[i].job == job) return &checker->jobs[i];
    return NULL;
}

void deadline_checker_serve(DeadlineChecker *checker, uint64_t number, uint64_t slice_ns) {
    DeadlineJob *job = find(checker, number);
    if (job) job->left_ns -= slice_ns < job->left_ns ? slice_ns : job->left_ns;
}

void deadline_checker_leave(DeadlineChecker *checker, uint64_t number) {
    DeadlineJob *job = find(checker, number);
    if (!job) return;
    size_t after = checker->count - (size_t)(job - checker->jobs) - 1;
    memmove(job, job + 1, after * sizeof *job);
    checker->count--;
}

bool deadline_checker_is_feasible(const DeadlineChecker *checker, uint64_t number) {
    const DeadlineJob *job = find(checker, number);
    return job && job->feasible;
}
