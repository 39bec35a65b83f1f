#pragma once
/* Tells whether a checkpoint continues with the arithmetic that it was made with. Callers:
 * job_run.c in scheduler/executor, run_machine.c in tools/client. Pure: no state, any thread. */
#include "kernels/device/device.h"
#include "serialize/container/container.h"

/* Compares the checkpoint's determinism class with the device's.
 *
 * out_words: for people, "goes on with another determinism class: OLD -> NEW: …"; NULL when the
 *            classes are equal or the checkpoint has no execution. memory_free.
 * Errors: CORRUPT its header; OUT_OF_MEMORY. */
MUST_CHECK Error *checkpoint_class_find_change(
    const Container *container, Device *device, char **out_words);
