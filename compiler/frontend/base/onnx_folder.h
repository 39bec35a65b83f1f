#pragma once
/* The place where a model's external data may be: filled by the command, read by onnx_external.c.
 * Pure: no state, any thread. */

typedef struct OnnxFolder {
    int descriptor; /* the folder that locations are relative to */
    /* NULL: only plain files with one link below the folder are read. A path: links are followed to
     * regular files below the folder of this path, which contains no links itself. "": links are
     * followed to any regular file. */
    const char *tree;
} OnnxFolder;
