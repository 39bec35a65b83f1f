#pragma once
/* A progress bar on standard error: only on a terminal, never with --quiet or --json. Callers:
 * tools/cli and tools/client. Threads: the main thread. */
#include <stdbool.h>
#include <stdint.h>

#include "tools/client/command.h"

typedef struct Progress {
    bool shown;
    const char *label;
    uint64_t drawn_ns; /* time of the last drawing */
    uint64_t start_ns;
    char note[128]; /* text behind the bar */
} Progress;

Progress progress_start(const CommandContext *context, const char *label);
/* Updates the bar and draws at most ten times a second. total 0: unknown. */
void progress_update(Progress *progress, uint64_t done, uint64_t total);
/* Sets the text behind the bar; long texts are cut. */
void progress_note(Progress *progress, const char *note);
/* Returns done per second since the start; NaN in the first moment. */
double progress_rate(const Progress *progress, uint64_t done);
/* Wipes the bar. */
void progress_end(Progress *progress);
