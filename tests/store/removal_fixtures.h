#pragma once
/* What the tests of removals share: a job and a look at how much one transaction changes. */
#include "store/database/connection.h"
#include "tests/store/job_fixtures.h"

enum { LARGE_JOB_OUTPUTS = 5000, LARGE_JOB_EVENTS = 3000 };

/* How many rows a transaction of the catalog's changed at most. */
typedef struct CommitWatch {
    sqlite3 *handle;
    int seen, most, commits;
} CommitWatch;

void commit_watch(Store *store, CommitWatch *out);
void commit_unwatch(const CommitWatch *watch);

/* As many outputs and events as a busy job has, of 10 bytes each; finished. */
JobId fixture_large_job(const TestHome *home);
/* Of a table of catalog.db. */
int64_t fixture_count_rows(const TestHome *home, const char *table);
