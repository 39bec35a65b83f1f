#pragma once
/* The bytes of calls and answers between a device and its worker process. Little-endian;
 * process_calls.def lists the fields of each call. Called by the files of kernels/process/ on both
 * sides. Pure: no state.
 *
 * A request names its operator; the reader checks the attributes and infers the outputs itself, so
 * that a request that was read is valid for any kernel.
 *
 * Errors of every read function: CORRUPT; UNSUPPORTED an operator that this build does not know. */
#include "base/bytes.h"
#include "kernels/operator/plan.h"

/* Raised with any change of the bytes. */
enum { PROCESS_WIRE_VERSION = 2, PROCESS_TEXT_MAX = 4096 };

/* Kinds of the records in the ring of commands. */
typedef enum ProcessCall {
#define CALL(number, name, function, answer) PROCESS_CALL_##name = number,
#include "kernels/process/process_calls.def"
#undef CALL
    PROCESS_CALL_COUNT
} ProcessCall;

/* Kinds of the records in the ring of answers. */
typedef enum ProcessAnswer {
    PROCESS_ANSWER_MORE = 1, /* a piece; others follow */
    PROCESS_ANSWER_LAST,     /* the last piece */
    PROCESS_ANSWER_ERROR,    /* an error, in place of the rest of the answer */
} ProcessAnswer;

/* A request that was read, with the objects that it refers to. */
typedef struct WireRequest {
    PlanRequest request;
    Attributes *attributes;
    TensorSpec inputs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX];
    void *owned_values[PLAN_INPUTS_MAX];
} WireRequest;

/* Bits of KernelStopScope: there is a stop; the kernel's inputs stay whole; it may pause. */
enum { WIRE_SCOPE_STOPS = 1, WIRE_SCOPE_WHOLE = 2, WIRE_SCOPE_PAUSES = 4, WIRE_SCOPE_ALL = 7 };

/* A launch that was read. */
typedef struct WireLaunch {
    uint64_t plan;
    uint32_t input_count, output_count;
    bool has_shapes; /* false: the shapes are the plan's */
    uint32_t scope;  /* WIRE_SCOPE_*, of the thread that launches */
    Launch launch;   /* without a stream; its addresses are the arrays below */
    uint64_t inputs[PLAN_INPUTS_MAX];
    uint64_t outputs[PLAN_OUTPUTS_MAX];
    Shape shapes[PLAN_OUTPUTS_MAX];
} WireLaunch;

/* The part of a plan that is sent. */
typedef struct WirePlan {
    uint64_t id;
    uint64_t workspace_bytes, philox_draws, in_place;
    bool view, measures;
    PlanOrigin origin;
    char *kernel_name; /* freed by memory_free */
} WirePlan;

void process_wire_write_request(ByteWriter *writer, const PlanRequest *request);
MUST_CHECK Error *process_wire_read_request(ByteReader *reader, WireRequest *out);
void wire_request_deinit(WireRequest *request); /* also for a request that was read in part */

void process_wire_write_pack(ByteWriter *writer, const PackRequest *request);
/* *out_attributes: owns the memory that out->attributes refers to. */
MUST_CHECK Error *process_wire_read_pack(
    ByteReader *reader, PackRequest *out, Attributes **out_attributes);

/* shapes NULL: the plan's. */
void process_wire_write_launch(ByteWriter *writer, uint64_t plan_id, const Plan *plan,
    const Launch *launch, const Shape *shapes);
MUST_CHECK Error *process_wire_read_launch(ByteReader *reader, WireLaunch *out);

void process_wire_write_plan(ByteWriter *writer, uint64_t id, const Plan *plan);
/* Checks the plan against the request; in_place: the pairs that the request allows. */
MUST_CHECK Error *process_wire_read_plan(
    ByteReader *reader, const PlanRequest *request, uint64_t in_place, WirePlan *out);

void process_wire_write_shapes(ByteWriter *writer, const Shape *shapes, uint32_t count);
/* Reads measured shapes; each must fit the plan's output. */
MUST_CHECK Error *process_wire_read_shapes(ByteReader *reader, const Plan *plan, Shape *out_shapes);

/* Writes u32 code, message. */
void process_wire_write_error(ByteWriter *writer, const Error *error);
/* *out_error: the error that was sent; never NULL on success. */
MUST_CHECK Error *process_wire_read_error(ByteReader *reader, Error **out_error);
