#include "tools/client/progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR_WIDTH = 30, DRAW_EVERY_NS = 100000000 };

Progress progress_start(const CommandContext *context, const char *label) {
    return (Progress){.shown = !context->quiet && !context->json && isatty(STDERR_FILENO),
        .label = label,
        .start_ns = clock_now_ns(clock_real())};
}

void progress_update(Progress *progress, uint64_t done, uint64_t total) {
    if (!progress->shown) return;
    uint64_t now = clock_now_ns(clock_real());
    if (done < total && now - progress->drawn_ns < DRAW_EVERY_NS) return;
    progress->drawn_ns = now;
    char bar[BAR_WIDTH + 1];
    uint64_t filled = total ? done * BAR_WIDTH / total : 0;
    for (uint64_t i = 0; i < BAR_WIDTH; i++) bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    if (total)
        (void)fprintf(stderr, "\r%s [%s] %3u %%%s%s", progress->label, bar,
            (unsigned)(done * 100 / total), progress->note, progress->note[0] ? "\x1b[K" : "");
    else
        (void)fprintf(stderr, "\r%s ...", progress->label);
    (void)fflush(stderr);
}

void progress_note(Progress *progress, const char *note) {
    (void)snprintf(progress->note, sizeof progress->note, " %s", note);
}

double progress_rate(const Progress *progress, uint64_t done) {
    uint64_t passed_ns = clock_now_ns(clock_real()) - progress->start_ns;
    return passed_ns > DRAW_EVERY_NS ? (double)done / ((double)passed_ns * 1e-9) : (double)NAN;
}

void progress_end(Progress *progress) {
    if (progress->shown && progress->drawn_ns) (void)fprintf(stderr, "\r\x1b[K");
}
