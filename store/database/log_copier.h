#pragma once
/* Copies the chunks' write-ahead log into their file at a quiet moment.
 *
 * Every byte is written twice, first into the log, where it is durable, then into the file. A large
 * upload does not wait for the second: its log is copied once nothing has been written for as long
 * as the copy is going to take, at about a gigabyte a second. Who wants to write meanwhile stops
 * it, and it begins anew at the next pause: he waits for a sync at most, of what the disk has not
 * written yet by then. Where there is no such pause for five seconds, because little is written but
 * without end, the log is copied while it is still short, and whoever comes then waits.
 *
 * Only the writer's connection copies, under its lock: SQLite before 3.51.3 may damage a database
 * when one connection writes while another one copies (sqlite.org/wal.html, "The WAL-Reset Bug").
 */
#include <stdint.h>

#include "base/error.h"
#include "base/own.h"
#include "store/database/store.h"

typedef struct LogCopier LogCopier;

/* Its thread begins when there is something to copy first. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *log_copier_open(Store *store, LogCopier **out_copier);
/* Waits for a copy that has begun; what is left is copied when the file is closed. */
void log_copier_close(LogCopier *copier);
/* A commit has just left so many bytes in the log. Under the writer's lock. */
void log_copier_note(LogCopier *copier, uint64_t log_size);
