#pragma once
/* The inputs of a submission between its request and the store: their heads are read, their memory
 * is charged, then they are unpacked. Large arrays are unpacked chunk by chunk into the store and
 * are never whole in memory. Called by job_intake.c, on handler threads; the object belongs to one
 * of them.
 *
 *      open: the archive's directory and heads -> check: ports and quota -> charge -> outline
 *      -> read -> write */
#include "scheduler/node/memory_budget.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/arrays/npz_file.h"
#include "store/accounts/tenants.h"
#include "vm/code/executable.h"

typedef struct IntakeInputs {
    NpzFile file;
    ArrayList arrays;         /* of the file; streamed ones without their elements */
    bool streams;             /* some arrays are streamed */
    struct NpzStream *stream; /* the array that is being read */
    MemoryCharge charge;
} IntakeInputs;

/* Makes the budget of memory in which inputs are unpacked: a sixteenth of the machine's, within
 * bounds. */
MUST_CHECK Error *intake_inputs_budget(MemoryBudget **out_budget);
/* The share of the budget that a tenant may hold at once: half of it, and no more than the tenant's
 * quota host_bytes, but always as much as small inputs take. host_bytes QUOTA_UNLIMITED: no
 * quota. */
uint64_t intake_inputs_share(const MemoryBudget *budget, int64_t host_bytes);

/* Reads the heads. data NULL: no inputs. Takes no memory for elements. Errors: as npz_file_open. */
MUST_CHECK Error *intake_inputs_open(const void *data, size_t size, IntakeInputs *out);
/* Closes the file and gives the charge back. */
void intake_inputs_close(IntakeInputs *inputs);
#define OWN_INTAKE_INPUTS(name) __attribute__((cleanup(intake_inputs_close))) name

/* Checks names, types, shapes and sizes. Errors: INVALID as npz_ports_check; EXHAUSTED the tenant's
 * quota host_bytes, which the arrays would fill when the job runs; small arrays pass in any
 * case. */
MUST_CHECK Error *intake_inputs_check(
    const IntakeInputs *inputs, const Function *function, bool items, const Tenant *tenant);
/* Charges the tenant for the memory that reading takes; outlines take less. Errors: EXHAUSTED as
 * memory_budget_take. */
MUST_CHECK Error *intake_inputs_charge(
    IntakeInputs *inputs, MemoryBudget *budget, const Tenant *tenant);
/* Makes the same arrays without their elements, to see how they are bound. Numbers are memory that
 * is never touched, but each string takes some, so the arrays must be charged before. out_arrays:
 * empty before. */
MUST_CHECK Error *intake_inputs_outline(const IntakeInputs *inputs, ArrayList *out_arrays);
/* Unpacks the small arrays. The outlines must be freed before, for the charge covers one of the
 * two. Errors: as npz_array_read. */
MUST_CHECK Error *intake_inputs_read(IntakeInputs *inputs);
/* Stores all arrays. */
MUST_CHECK Error *intake_inputs_write(
    IntakeInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
