#pragma once
/* Converts between named arrays and a function's values: arrays to arguments by the function's
 * ports, results and yields to arrays. Callers: scheduler/executor, scheduler/jobs, tools/client.
 * Threads: any; one at a time per execution. */
#include "serialize/arrays/array_list.h"
#include "vm/execution/execution.h"

/* Makes the arguments of a function from arrays by name. The arrays' memory moves into sealed
 * tensors on the host. A list input is made of NAME.0, NAME.1 …, all present in any order;
 * NAME.count, one int64, may give their number, and must when there are none. An optional input
 * without an array is nil. An input that takes anything is a shape where the array is NAME.shape,
 * int64 numbers, and a bool, int or float where it is NAME.scalar. Shapes and types are checked
 * when an execution is made of the values.
 *
 * inout_list: arrays that were taken are left empty.
 * out_values: parameter_count values; release with array_values_release.
 * Errors:     INVALID an unknown, repeated or missing input, named. */
MUST_CHECK Error *array_values_bind(
    ArrayList *inout_list, const Function *function, Value **out_values);
void array_values_release(Value *values, uint32_t count);
/* Returns the bytes of the tensors that an argument consists of. */
uint64_t array_values_bytes(const Value *value);
/* Moves one array's memory into a sealed tensor and leaves the array empty. */
MUST_CHECK Error *array_values_from_array(NamedArray *inout_array, Value *out);
/* Finds the port of that name. Returns false when there is none. */
bool array_values_find_parameter(const Function *function, const char *name, uint32_t *out_index);
/* Finds the port that an array is for: an input, or the list that the array is an item of; NULL for
 * NAME.count. out_whole: the array is the whole input. Errors: INVALID there is no such input. */
MUST_CHECK Error *array_values_find_port(
    const Function *function, const char *name, const Port **out_port, bool *out_whole);

/* Receives arrays one by one. add may move the array out, leaving it empty. */
typedef struct ArraySink {
    Error *(*add)(void *self, NamedArray *inout_array);
    void *self;
    /* The sink only reads the array during the call, so data in host memory is lent, not copied. */
    bool only_reads;
} ArraySink;

/* Exports a value: tensors, scalars and shapes (int64 numbers) under NAME; tuples and lists of them
 * under NAME.0, NAME.1 …; an empty list as NAME.count (an int64, 0); nil is left out. Errors:
 * UNSUPPORTED a value that no array can hold; INVALID a tensor that was never written; whatever the
 * sink returns. */
MUST_CHECK Error *array_values_export(const Value *value, const char *name, ArraySink sink);
/* Exports the results of a finished execution under the results' names. */
MUST_CHECK Error *array_values_export_result(Execution *execution, ArraySink sink);
