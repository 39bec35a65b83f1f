#pragma once
/* The options in the SPEC of a sim device: "sim:0,memory=64MiB,bandwidth=1GiB,fail-launch=7". Read
 * by sim_device.c when a device is opened. Pure: no state.
 *
 * - memory=SIZE: its memory; 1 GiB unless given.
 * - lacks=Conv+Mul: operators that the device pretends to have no kernel for ("*": any), so that
 * expansions and the host's kernels are used.
 * - speed=F: kernels wait, as on an accelerator of F times 10 GB/s (sim_pace.h).
 * - bandwidth=SIZE: copies between device and host wait, as over a link of so many bytes a second.
 * - lag=US: queued work begins so many microseconds after it was queued at the earliest.
 * - fail-alloc=N, fail-copy=N, fail-launch=N, lose-after=N: see sim_faults.h. */
#include "kernels/device/device_options.h"

typedef struct SimOptions {
    uint64_t memory_bytes;
    char lacks[DEVICE_OPTION_MAX]; /* "+Conv+Softmax+"; "" for none */
    double speed;                  /* 0: kernels do not wait */
    uint64_t bandwidth;            /* 0: copies do not wait */
    uint64_t lag_us;
    /* The N-th such call fails; 0: none. */
    uint64_t fail_alloc, fail_copy, fail_launch, lose_after;
} SimOptions;

/* Errors: USAGE, one sentence that names the option. */
MUST_CHECK Error *sim_options_read(const char *options, SimOptions *out);
