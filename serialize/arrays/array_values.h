#pragma once
/* Arrays as what functions take and return: named arrays to argument values by the function's
 * ports, results and yields to named arrays. */
#include "serialize/arrays/array_list.h"
#include "vm/execution/execution.h"

/* The arguments of a function, by name; the arrays' memory moves into sealed tensors on the host.
 * An input that is a list is made of NAME.0, NAME.1 …, all there in any order; NAME.count, one
 * int64, may say how many they are, and must where there are none. An optional input that no array
 * gives is nil.
 * Shapes and types are checked when an execution is made of them.
 *
 * inout_list: arrays that were taken are left empty.
 * out_values: parameter_count of them; array_values_release.
 * Errors:     INVALID an unknown, repeated or missing input, named. */
MUST_CHECK Error *array_values_bind(
    ArrayList *inout_list, const Function *function, Value **out_values);
void array_values_release(Value *values, uint32_t count);
/* Of the tensors that an argument consists of. */
uint64_t array_values_bytes(const Value *value);
/* One array's memory as a sealed tensor; the array is left empty. */
MUST_CHECK Error *array_values_from_array(NamedArray *inout_array, Value *out);
/* The port of that name. False: there is none. */
bool array_values_find_parameter(const Function *function, const char *name, uint32_t *out_index);
/* What an array of that name is for: the port of an input, or of a list that it is an item of; NULL
 * for NAME.count. out_whole: it is all of the input. Errors: INVALID there is no such input. */
MUST_CHECK Error *array_values_find_port(
    const Function *function, const char *name, const Port **out_port, bool *out_whole);

/* Gets one array; it may move it out, leaving it empty. */
typedef struct ArraySink {
    Error *(*add)(void *self, NamedArray *inout_array);
    void *self;
    /* It only reads the array, during the call: what lies in host memory is lent to it, not copied.
     */
    bool only_reads;
} ArraySink;

/* Tensors and scalars; tuples and lists of them under NAME.0, NAME.1 …, an empty list as NAME.count
 * (an int64, 0); nil is left out.
 * Errors: UNSUPPORTED what no array can hold; INVALID a tensor that was never written; whatever the
 * sink returns. */
MUST_CHECK Error *array_values_export(const Value *value, const char *name, ArraySink sink);
/* What a finished execution returned, under its results' names. */
MUST_CHECK Error *array_values_export_result(Execution *execution, ArraySink sink);
