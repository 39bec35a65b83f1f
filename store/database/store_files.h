#pragma once
/* The sizes of the store's files: both databases and their write-ahead logs. Called by
 * daemon_metrics.c. Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

enum { STORE_FILE_COUNT = 4, STORE_FILE_NAME_SIZE = 32 };

typedef struct StoreFile {
    char name[STORE_FILE_NAME_SIZE]; /* "catalog.db-wal" */
    uint64_t bytes;                  /* 0: the file does not exist */
} StoreFile;

/* Errors: IO. */
MUST_CHECK Error *store_files_measure(const Store *store, StoreFile out_files[STORE_FILE_COUNT]);
