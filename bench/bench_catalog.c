/* bench_catalog FOLDER [SECONDS] [CALLERS]: durable changes of the catalog, one after the other and
 * with many callers in flight, beside the disk's own rate of small synced appends; then listing
 * 10,000 jobs, and what a queued one takes. FOLDER must not exist yet; what is left in it may be
 * deleted. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/text.h"
#include "store/database/catalog.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/jobs.h"

enum { CALLERS_MAX = 1024, JOBS_LISTED = 10000, LIST_REPEAT = 7, APPEND_SIZE = 4096 };

typedef struct Bench {
    Store *store;
    Catalog *catalog;
    JobSubmission submission;
    JobContent inputs;
    double seconds;
    uint32_t callers;
} Bench;

/* One caller: does its work again and again until the time is over. */
typedef struct Caller {
    CatalogRequest request; /* first: done gets its address */
    Bench *bench;
    CatalogWork work;
    uint64_t end_ns;
    uint64_t count;
    JobId job;
    bool suspended;
    int64_t outputs;
    Error *error;
    atomic_bool is_done;
} Caller;

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

static Error *submit(Connection *catalog, void *context) {
    Caller *caller = context;
    return jobs_submit(catalog, TENANT_DEFAULT, &caller->bench->submission, &caller->job, NULL);
}

static Error *transition(Connection *catalog, void *context) {
    Caller *caller = context;
    caller->suspended = !caller->suspended;
    return jobs_transition(catalog, TENANT_DEFAULT, caller->job,
        caller->suspended ? JOB_STATE_SUSPENDED : JOB_STATE_QUEUED, NULL);
}

/* A tiny job's life: submitted, one output, ended. */
static Error *live(Connection *catalog, void *context) {
    Caller *caller = context;
    TRY(submit(catalog, context));
    TRY(job_outputs_add(
        catalog, TENANT_DEFAULT, caller->job, 0, &caller->bench->inputs, 1, -1, NULL));
    return jobs_transition(catalog, TENANT_DEFAULT, caller->job, JOB_STATE_SUCCEEDED, NULL);
}

static void go_on(CatalogRequest *request, Error *owned_error) {
    Caller *caller = (Caller *)request;
    caller->error = owned_error;
    caller->count += !owned_error;
    if (!caller->error && now_ns() < caller->end_ns)
        caller->error = catalog_post(caller->bench->catalog, request);
    else
        atomic_store(&caller->is_done, true);
    if (caller->error) atomic_store(&caller->is_done, true);
}

static void *wait_each(void *context) {
    Caller *caller = context;
    while (!caller->error && now_ns() < caller->end_ns) {
        caller->error = catalog_run(caller->bench->catalog, caller->work, caller);
        caller->count += !caller->error;
    }
    return NULL;
}

static Error *start(Caller *caller, Bench *bench, CatalogWork work) {
    *caller = (Caller){.bench = bench, .work = work};
    caller->request = (CatalogRequest){.work = work, .context = caller, .done = go_on};
    TRY(catalog_run(bench->catalog, submit, caller));
    caller->end_ns = now_ns() + (uint64_t)(bench->seconds * 1e9);
    return NULL;
}

static Error *sum_up(Caller *callers, uint32_t count, uint64_t start_ns, double *out_rate) {
    uint64_t total = 0;
    double seconds = (double)(now_ns() - start_ns) * 1e-9;
    for (uint32_t i = 0; i < count; i++) {
        TRY(callers[i].error);
        total += callers[i].count;
    }
    *out_rate = (double)total / seconds;
    return NULL;
}

/* Requests that are posted again as they end: nobody waits. */
static Error *run_posted(Bench *bench, CatalogWork work, uint32_t count, double *out_rate) {
    static Caller callers[CALLERS_MAX];
    for (uint32_t i = 0; i < count; i++) TRY(start(&callers[i], bench, work));
    uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < count; i++) {
        callers[i].end_ns = start_ns + (uint64_t)(bench->seconds * 1e9);
        TRY(catalog_post(bench->catalog, &callers[i].request));
    }
    for (uint32_t i = 0; i < count; i++)
        while (!atomic_load(&callers[i].is_done)) (void)usleep(200);
    return sum_up(callers, count, start_ns, out_rate);
}

/* A thread a caller, each waiting for its own. */
static Error *run_threads(Bench *bench, CatalogWork work, uint32_t count, double *out_rate) {
    static Caller callers[CALLERS_MAX];
    static pthread_t threads[CALLERS_MAX];
    for (uint32_t i = 0; i < count; i++) TRY(start(&callers[i], bench, work));
    uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < count; i++) {
        callers[i].end_ns = start_ns + (uint64_t)(bench->seconds * 1e9);
        if (pthread_create(&threads[i], NULL, wait_each, &callers[i]) != 0)
            FAIL(EXHAUSTED, "no thread");
    }
    for (uint32_t i = 0; i < count; i++) (void)pthread_join(threads[i], NULL);
    return sum_up(callers, count, start_ns, out_rate);
}

/* The peer: as many 4 KiB appends with fdatasync as the disk does. */
static Error *run_appends(const char *folder, double seconds, double *out_rate) {
    static const char page[APPEND_SIZE] = {1};
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/appends", folder);
    TRY(text_builder_check(&path));
    int file = open(text_builder_get(&path), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (file < 0) FAIL(IO, "open %s", text_builder_get(&path));
    uint64_t start_ns = now_ns(), count = 0;
    while ((double)(now_ns() - start_ns) * 1e-9 < seconds) {
        if (write(file, page, sizeof page) != sizeof page || fdatasync(file) != 0)
            FAIL(IO, "write %s", text_builder_get(&path));
        count++;
    }
    *out_rate = (double)count / ((double)(now_ns() - start_ns) * 1e-9);
    (void)close(file);
    return NULL;
}

static Error *submit_many(Connection *catalog, void *context) {
    Bench *bench = context;
    JobId id;
    for (int i = 0; i < 1000; i++)
        TRY(jobs_submit(catalog, TENANT_DEFAULT, &bench->submission, &id, NULL));
    return NULL;
}

static int64_t catalog_size(const char *folder) {
    char path[4096];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/catalog.db", folder);
    return stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
}

/* A store of its own, so that the file's growth is the jobs'. */
static Error *prepare(Bench *bench, const char *folder) {
    OWN(ChunkUpload, upload) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    ExecutableContent content = {.manifest = "m", .manifest_size = 1, .manifest_raw_size = 1};
    TRY(store_open(folder, STORE_CREATE, &bench->store));
    TRY(digest_sha256("m", 1, &content.identity));
    TRY(chunk_upload_open(bench->store, TENANT_DEFAULT, &upload));
    TRY(models_register(upload, "m", &content, NULL, 0, &version, NULL));
    bench->inputs = (JobContent){.bytes = "x", .size = 1};
    TRY(job_content_stage(NULL, TENANT_DEFAULT, &bench->inputs));
    bench->submission = (JobSubmission){.model = "m@1",
        .executable = content.identity,
        .release = JOB_RELEASE_LOG,
        .items_total = -1,
        .deadline = NAN,
        .policy = "{\"function\":\"main\",\"device\":\"cpu\"}",
        .policy_size = 34,
        .inputs = &bench->inputs};
    return catalog_open(bench->store, &bench->catalog);
}

static void finish(Bench *bench) {
    catalog_close(TAKE(bench->catalog));
    store_close(TAKE(bench->store));
}

static Error *measure_list(Bench *bench) {
    double best = INFINITY;
    size_t count = 0;
    for (int i = 0; i < LIST_REPEAT; i++) {
        OWN(JobList, list) = NULL;
        uint64_t start_ns = now_ns();
        TRY(jobs_list(bench->store, TENANT_DEFAULT, JOB_STATE_QUEUED, 0, JOBS_LISTED, &list));
        double seconds = (double)(now_ns() - start_ns) * 1e-9;
        count = list->count;
        if (seconds < best) best = seconds;
    }
    printf("| list of %zu queued jobs | %.1f ms | %zu bytes each in memory |\n", count, best * 1e3,
        sizeof(Job));
    return NULL;
}

static Error *measure_jobs(Bench *bench, const char *folder) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/listed", folder);
    TRY(text_builder_check(&path));
    TRY(prepare(bench, text_builder_get(&path)));
    finish(bench);
    int64_t before = catalog_size(text_builder_get(&path));
    TRY(store_open(text_builder_get(&path), STORE_EXISTING, &bench->store));
    TRY(catalog_open(bench->store, &bench->catalog));
    for (int i = 0; i < JOBS_LISTED / 1000; i++)
        TRY(catalog_run(bench->catalog, submit_many, bench));
    TRY(measure_list(bench));
    finish(bench);
    int64_t after = catalog_size(text_builder_get(&path));
    printf("| a queued job in the file | %lld bytes | all tables and indices |\n",
        (long long)(after - before) / JOBS_LISTED);
    return NULL;
}

static Error *measure_rates(Bench *bench, const char *folder) {
    static const struct {
        const char *name;
        CatalogWork work;
    } kinds[] = {{"transition", transition}, {"submit", submit}, {"submit + output + end", live}};
    double appends, one, posted, threads;
    TRY(prepare(bench, folder));
    TRY(run_appends(folder, bench->seconds, &appends));
    printf("| durable changes per second | one caller | %u posted | %u threads |\n", bench->callers,
        bench->callers);
    printf("| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        TRY(run_threads(bench, kinds[i].work, 1, &one));
        TRY(run_posted(bench, kinds[i].work, bench->callers, &posted));
        TRY(run_threads(bench, kinds[i].work, bench->callers, &threads));
        printf("| %s | %.0f (%.2f of the appends) | %.0f (%.1f) | %.0f (%.1f) |\n", kinds[i].name,
            one, one / appends, posted, posted / appends, threads, threads / appends);
    }
    printf("| 4 KiB append + fdatasync | %.0f | | |\n", appends);
    finish(bench);
    return NULL;
}

int main(int argument_count, char **arguments) {
    static Bench bench = {.seconds = 2, .callers = 64};
    uint64_t callers = bench.callers;
    bool right = argument_count >= 2 && argument_count <= 4;
    if (right && argument_count > 2) right = text_parse_f64(arguments[2], &bench.seconds);
    if (right && argument_count > 3) right = text_parse_u64(arguments[3], &callers);
    if (!right || !(bench.seconds > 0) || callers < 1 || callers > CALLERS_MAX) {
        fprintf(stderr, "usage: bench_catalog FOLDER [SECONDS] [CALLERS, up to %d]\n", CALLERS_MAX);
        return 2;
    }
    bench.callers = (uint32_t)callers;
    Error *error = measure_rates(&bench, arguments[1]);
    if (!error) error = measure_jobs(&bench, arguments[1]);
    if (error) fprintf(stderr, "bench_catalog: %s\n", error_message(error));
    int status = error ? 1 : 0;
    error_free(error);
    return status;
}
