#pragma once
/* One thing that a process does with a store, done again and again with a fault at each of its
 * operations in turn; afterwards the home has the old state or the new one. */
#include "tests/store/kvfs.h"
#include "tests/store/store_fixtures.h"

/* Sanitizers make a run ten times as long: every thirty-first operation has its turn then,
 * others with each kind of fault; fewer where only threads are looked at. Without them all have. */
#if defined(TEST_WITH_THREAD_SANITIZER)
#define FAULT_STEP 41
#elif defined(TEST_WITH_ADDRESS_SANITIZER)
#define FAULT_STEP 31
#else
#define FAULT_STEP 1
#endif

/* What happens between opening a store and closing it. */
typedef struct FaultScenario {
    const char *name;
    Error *(*prepare)(Store *store);            /* makes the old state; NULL: an empty store */
    Error *(*run)(Store *store);                /* NULL: nothing but opening it */
    void (*prepare_home)(const TestHome *home); /* before prepare; NULL: nothing */
} FaultScenario;

/* Writes down everything that must not be lost. */
typedef void FaultPrinter(Store *store, TextBuilder *out);

/* forever: every operation from the hit one on fails. */
void fault_scenario_run(
    const FaultScenario *scenario, FaultPrinter *print, KvfsFault fault, bool forever);
