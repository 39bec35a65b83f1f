#pragma once
/* The daemon: owns a home, runs jobs and answers HTTP until it is told to end. Called by `layover
 * serve` (command_serve.c), on the process's main thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "scheduler/control/control.h"

typedef struct DaemonOptions {
    const char *home;
    const char *socket;             /* NULL: HOME/socket */
    const char *listen;             /* HOST:PORT; NULL: no TCP */
    const char *tls_cert, *tls_key; /* PEM files, for TCP; both, or NULL for no TLS */
    const char *compiler;           /* the layover binary */
    const char *version;            /* of Layover, for other nodes; NULL: not reported */
    const char *devices[CONTROL_DEVICES_MAX];
    uint32_t device_count;
    uint64_t grace_ns;         /* upper bound on draining */
    const char *event_log;     /* FILE; NULL: none */
    uint64_t event_log_max;    /* bytes */
    bool weight_cache;         /* prepared weights (images) are kept in the home */
    uint64_t weight_cache_max; /* bytes of weight images; 0: see weight_cache.h */
    bool isolate;              /* as in ControlOptions */
    NativeTenants native;      /* as in ControlOptions */
    /* Called two seconds after the grace if the daemon has not ended: prints a message and ends the
     * process. left: as out_left of daemon_run; words: jobs that have not stopped, a line each. */
    void (*cut)(size_t left, const char *words);
} DaemonOptions;

/* The addresses that `layover serve` prints when the daemon is ready. */
typedef struct DaemonReady {
    const char *socket;
    const char *listen;      /* with the port in use; "" */
    const char *fingerprint; /* of the TLS key, as server_key.h writes it; "": no TLS */
} DaemonReady;

/* Runs until SIGTERM or SIGINT, then drains.
 *
 * ready:    called once, when requests are answered.
 * out_left: unfinished jobs, which the next start takes up.
 * Errors:   REFUSED another process owns the home; the error that stopped the daemon. */
MUST_CHECK Error *daemon_run(const DaemonOptions *options,
    Error *(*ready)(void *context, const DaemonReady *ready), void *context, size_t *out_left);
