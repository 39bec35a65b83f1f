#pragma once
/* What the same name in the shapes of several inputs means. */
typedef enum OnnxNames {
    ONNX_NAMES_BIND,  /* the same size, which the compiler relies on and each run checks */
    ONNX_NAMES_APART, /* only the first input keeps the name; each such name is warned of */
} OnnxNames;
