#pragma once
/* The meaning of a dimension's name that occurs in the shapes of several inputs. */
typedef enum OnnxNames {
    ONNX_NAMES_BIND,  /* the same size, which the compiler relies on and each run checks */
    ONNX_NAMES_APART, /* only the first input keeps the name; each such name is warned of */
} OnnxNames;
