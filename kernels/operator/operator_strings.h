#pragma once
/* Which operators make tensors of strings, for analyses that follow strings through a program
 * before its element types are known (compiler/lower/slot_strings.c, vm/code/device_strings.c).
 * Pure: no state. */
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"

typedef enum OperatorStrings {
    OPERATOR_STRINGS_NEVER,
    OPERATOR_STRINGS_ALWAYS,
    OPERATOR_STRINGS_AS_INPUTS,  /* if an input has strings */
    OPERATOR_STRINGS_AS_INPUT_1, /* if input 1 has strings */
} OperatorStrings;

OperatorStrings operator_strings(
    const OperatorInfo *info, const Attributes *attributes, uint32_t result);
