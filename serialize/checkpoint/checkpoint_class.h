#pragma once
/* Whether a checkpoint goes on with the arithmetic that it was made with. */
#include "kernels/device/device.h"
#include "serialize/container/container.h"

/* out_words: for people, "goes on with another determinism class: OLD -> NEW: …"; NULL where the
 * device has the class that the checkpoint was written in, or it has no execution. memory_free.
 * Errors: CORRUPT its header; OUT_OF_MEMORY. */
MUST_CHECK Error *checkpoint_class_find_change(
    const Container *container, Device *device, char **out_words);
