#pragma once
/* A model that is stopped on one device and taken up on another, through the bytes of a checkpoint,
 * in one process.
 *
 * Threads: one at a time. */
#include "serialize/arrays/array_list.h"
#include "vm/execution/execution.h"

typedef struct ResumeModel {
    char *name; /* "loop_if_scan.five": the model and its case */
    Executable *executable;
    Value *inputs;
    uint32_t function, input_count; /* main and its parameters */
    ArrayList expected;             /* what another runtime made of the inputs */
} ResumeModel;

/* FOLDER/MODEL.lvx, FOLDER/MODEL.CASE.npz, FOLDER/MODEL.CASE.expected.npz. name: "MODEL.CASE".
 * Errors: of files that are not there or not what they should be. */
MUST_CHECK Error *resume_model_open(const char *folder, const char *name, ResumeModel *out);
void resume_model_deinit(ResumeModel *model);

/* The model on one device, and what a run without a stop gives there. */
typedef struct ResumePlace {
    Residency *residency;
    char *determinism_class; /* of the device */
    ArrayList straight;
    uint64_t instructions; /* of that run */
} ResumePlace;

/* Both devices are borrowed; they are the same on the host.
 * Errors: whatever the run returns; INTERNAL its outputs are not the expected ones. */
MUST_CHECK Error *resume_place_open(
    const ResumeModel *model, Device *host, Device *device, ResumePlace *out);
void resume_place_deinit(ResumePlace *place);

/* Stops after stop_after instructions at `from`, goes on at `to`. The outputs must be the bits of
 * the straight run where both are of one determinism class, else near the expected ones. Errors:
 * whatever running returns; INTERNAL other outputs. */
MUST_CHECK Error *resume_check(
    const ResumeModel *model, const ResumePlace *from, const ResumePlace *to, uint64_t stop_after);

/* Names, types, shapes and elements. exact: the bits; else floats may be a little off, as against
 * another runtime. Errors: INTERNAL saying which differs. */
MUST_CHECK Error *resume_compare(const ArrayList *made, const ArrayList *expected, bool exact);
