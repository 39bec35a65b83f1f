#pragma once
/* How large the store's files are: both databases and their write-ahead logs. */
#include <stdint.h>

#include "store/database/store.h"

enum { STORE_FILE_COUNT = 4, STORE_FILE_NAME_SIZE = 32 };

typedef struct StoreFile {
    char name[STORE_FILE_NAME_SIZE]; /* "catalog.db-wal" */
    uint64_t bytes;                  /* 0: it is not there */
} StoreFile;

/* Errors: IO. */
MUST_CHECK Error *store_files_measure(const Store *store, StoreFile out_files[STORE_FILE_COUNT]);
