#pragma once
/* Where a model's external data may be. */

typedef struct OnnxFolder {
    int descriptor; /* the folder that locations are relative to */
    /* NULL: only plain files with one link below that folder. Else links are followed as long as
     * they lead to a regular file below the folder of this path, which has no links in it; "": to
     * any regular file. */
    const char *tree;
} OnnxFolder;
