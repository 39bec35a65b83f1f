#include "kernels/operator/operator_strings.h"

/* Operators that are not listed here keep the element type of the elements that they move. */
OperatorStrings operator_strings(
    const OperatorInfo *info, const Attributes *attributes, uint32_t result) {
    switch ((int)info->id) {
    case OPERATOR_CAST:
        return attributes_dtype(attributes, "to") == DTYPE_STRING ? OPERATOR_STRINGS_ALWAYS
                                                                  : OPERATOR_STRINGS_NEVER;
    case OPERATOR_CAST_LIKE:
        return OPERATOR_STRINGS_AS_INPUT_1;
    case OPERATOR_UNIQUE:
    case OPERATOR_STRING_SPLIT:
        return result == 0 ? OPERATOR_STRINGS_AS_INPUTS : OPERATOR_STRINGS_NEVER;
    case OPERATOR_EQUAL:
    case OPERATOR_REGEX_FULL_MATCH:
    case OPERATOR_STRING_HASH:
    case OPERATOR_TF_IDF_VECTORIZER:
    case OPERATOR_SHAPE:
    case OPERATOR_SIZE:
        return OPERATOR_STRINGS_NEVER;
    default:
        return OPERATOR_STRINGS_AS_INPUTS;
    }
}
