#pragma once
/* The model of a folder: people have folders with a model, its data and what belongs to it. Called
 * by the verbs that take a model's file. Threads: any. */
#include <limits.h>

#include "base/error.h"
#include "base/text.h"

/* Where the path is a folder: makes it the path of the one .onnx file in it, or, if there is none,
 * in the folders of that folder. memory: for the path, as long as it is used. Errors: INVALID no
 * model, or several, named; IO. */
MUST_CHECK Error *model_folder_find(const char **inout_path, char memory[PATH_MAX]);
