#pragma once
/* What the same name in the shapes of several inputs means. */
typedef enum OnnxNames {
    ONNX_NAMES_BIND,  /* the same size: it may be relied on, and is checked at each run */
    ONNX_NAMES_APART, /* nothing, but where it stands first; with a warning for each such name */
} OnnxNames;
