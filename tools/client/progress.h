#pragma once
/* A progress bar on standard error: only on a terminal, never with --quiet or --json. */
#include <stdbool.h>
#include <stdint.h>

#include "tools/client/command.h"

typedef struct Progress {
    bool shown;
    const char *label;
    uint64_t drawn_ns; /* when it was last drawn */
    uint64_t start_ns;
    char note[128]; /* behind the bar */
} Progress;

Progress progress_start(const CommandContext *context, const char *label);
/* total 0: unknown. Draws at most ten times a second. */
void progress_update(Progress *progress, uint64_t done, uint64_t total);
/* What stands behind the bar from now on; it is cut where it is too long. */
void progress_note(Progress *progress, const char *note);
/* done per second since the start; NaN in the first moment. */
double progress_rate(const Progress *progress, uint64_t done);
/* Wipes the bar. */
void progress_end(Progress *progress);
