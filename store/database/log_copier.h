#pragma once
/* Copies the chunks' write-ahead log into their file at a quiet moment, in a thread of its own.
 * store.c owns the copier; transaction.c tells it about commits.
 *
 * Every byte is written twice, first into the log, where it is durable, then into the file. A large
 * upload does not wait for the copy. The copier starts after a pause as long as the copy will take,
 * at about a gigabyte a second. A writer that starts during a copy stops the copy, which begins
 * anew at the next pause. The writer waits at most for a sync of the data that the disk has not
 * written yet. When there is no such pause for five seconds, because small writes never end, the
 * copier copies the log while it is short, and a writer waits for the copy.
 *
 * Only the writer's connection copies, under its lock: SQLite before 3.51.3 may damage a database
 * when one connection writes while another one copies (sqlite.org/wal.html, "The WAL-Reset Bug").
 * */
#include <stdint.h>

#include "base/error.h"
#include "base/own.h"
#include "store/database/store_types.h"

typedef struct LogCopier LogCopier;

/* Makes a copier. Its thread starts when the first copy is due. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *log_copier_open(Store *store, LogCopier **out_copier);
/* Waits for a running copy and stops the thread. Closing the file copies the rest of the log. */
void log_copier_close(LogCopier *copier);
/* Called when a commit has left so many bytes in the log, under the writer's lock. */
void log_copier_note(LogCopier *copier, uint64_t log_size);
