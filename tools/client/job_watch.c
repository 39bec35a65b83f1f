#include "tools/client/job_watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/client/progress.h"
#include "tools/client/remote.h"

int job_watch_exit_code(const char *state) {
    if (strcmp(state, "succeeded") == 0) return 0;
    if (strcmp(state, "suspended") == 0) return 85;
    return error_info(strcmp(state, "cancelled") == 0 ? ERROR_CANCELLED : ERROR_FAILED)->exit_code;
}

static void print_change(json_object *line) {
    char time[32];
    remote_print_time(remote_real(line, "time"), time);
    const char *state = remote_text(line, "state"), *why = remote_text(line, "why");
    const char *kind = remote_text(line, "kind"); /* "" for a change of state, and for progress */
    if (*state)
        printf("%6lld  %s  %-10s %s\n", (long long)remote_int(line, "seq"), time,
            *kind ? kind : state, why);
    else if (remote_field(line, "items_done"))
        printf("%6lld  %s  %lld of %lld items\n", (long long)remote_int(line, "seq"), time,
            (long long)remote_int(line, "items_done"), (long long)remote_int(line, "items_total"));
    else
        printf("%6lld  %s  %lld outputs\n", (long long)remote_int(line, "seq"), time,
            (long long)remote_int(line, "outputs"));
    (void)fflush(stdout);
}

/* Items, items a second, device-time and the checkpoint's age behind the bar. */
static void draw(JobWatch *watch, json_object *line) {
    int64_t done = remote_int(line, "items_done"), total = remote_int(line, "items_total");
    char words[128];
    double age = remote_real(line, "checkpoint_age"), used = remote_real(line, "device_seconds");
    int size = snprintf(words, sizeof words, "%lld of %lld", (long long)done, (long long)total);
    double rate = progress_rate(watch->progress, (uint64_t)(done > 0 ? done : 0));
    if (isfinite(rate) && size > 0 && (size_t)size < sizeof words)
        size += snprintf(words + size, sizeof words - (size_t)size, ", %.1f/s", rate);
    if (isfinite(used) && size > 0 && (size_t)size < sizeof words)
        size += snprintf(words + size, sizeof words - (size_t)size, ", %.1f s on devices", used);
    if (isfinite(age) && size > 0 && (size_t)size < sizeof words)
        (void)snprintf(words + size, sizeof words - (size_t)size, ", checkpoint %.0f s ago", age);
    progress_note(watch->progress, words);
    if (done >= 0 && total > 0) progress_update(watch->progress, (uint64_t)done, (uint64_t)total);
}

/* A job on another node has no bar here. */
static Error *show_line(void *self, json_object *line) {
    JobWatch *watch = self;
    const bool bar = watch->progress && watch->progress->shown && !remote_field(line, "node");
    if (bar && remote_field(line, "items_done")) draw(watch, line);
    if (watch->show && watch->context->json) return command_print_json(json_object_get(line));
    if (watch->show && !bar) print_change(line);
    return NULL;
}

static bool is_interrupted(void *self) {
    JobWatch *watch = self;
    return watch->interrupted && watch->interrupted(watch);
}

Error *job_watch_run(JobWatch *watch) {
    watch->follow.visit = show_line;
    watch->follow.interrupted = is_interrupted;
    watch->follow.context = watch;
    return job_follow_run(&watch->follow);
}
