#pragma once
/* The inputs of a submission between its request and the store: looked at first, then charged, then
 * unpacked. What is large is unpacked chunk by chunk into the store and never lies in memory as a
 * whole.
 *
 *      open: the archive's directory and heads -> check: ports and quota -> charge -> outline ->
 * read
 *      -> write
 */
#include "scheduler/node/memory_budget.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/arrays/npz_file.h"
#include "store/accounts/tenants.h"
#include "vm/code/executable.h"

typedef struct IntakeInputs {
    NpzFile file;
    ArrayList arrays;         /* of the file; those that are streamed without their elements */
    bool streams;             /* some are */
    struct NpzStream *stream; /* the one that is being read */
    MemoryCharge charge;
} IntakeInputs;

/* A sixteenth of the machine's memory, within bounds, in which inputs are unpacked. */
MUST_CHECK Error *intake_inputs_budget(MemoryBudget **out_budget);
/* What a tenant may hold of it at once: half of everything, and no more than its quota host_bytes,
 * but always as much as small inputs take. host_bytes: QUOTA_UNLIMITED: no quota. */
uint64_t intake_inputs_share(const MemoryBudget *budget, int64_t host_bytes);

/* data NULL: no inputs. Takes no memory for elements. Errors: as npz_file_open. */
MUST_CHECK Error *intake_inputs_open(const void *data, size_t size, IntakeInputs *out);
/* Gives back what was charged. */
void intake_inputs_close(IntakeInputs *inputs);
#define OWN_INTAKE_INPUTS(name) __attribute__((cleanup(intake_inputs_close))) name

/* Names, types, shapes and sizes. Errors: INVALID as npz_ports_check; EXHAUSTED the tenant's quota
 * host_bytes, which the arrays would fill when the job runs; small ones are taken whatever it is.
 */
MUST_CHECK Error *intake_inputs_check(
    const IntakeInputs *inputs, const Function *function, bool items, const Tenant *tenant);
/* Charges the tenant what reading takes, which is more than outlines do. Errors: EXHAUSTED as
 * memory_budget_take. */
MUST_CHECK Error *intake_inputs_charge(
    IntakeInputs *inputs, MemoryBudget *budget, const Tenant *tenant);
/* The same arrays without their elements, to see how they are bound: numbers are memory that
 * nobody touches, but each string takes some, so they must be charged. out_arrays: empty before. */
MUST_CHECK Error *intake_inputs_outline(const IntakeInputs *inputs, ArrayList *out_arrays);
/* Unpacks what is small. Outlines are gone before, for the charge covers one of the two. Errors: as
 * npz_array_read. */
MUST_CHECK Error *intake_inputs_read(IntakeInputs *inputs);
/* Stores all of them. */
MUST_CHECK Error *intake_inputs_write(
    IntakeInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
