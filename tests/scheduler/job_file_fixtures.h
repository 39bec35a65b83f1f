#pragma once
/* Files of jobs, written, looked into and forged. */
#include "scheduler/jobs/job_export.h"
#include "scheduler/jobs/job_import.h"
#include "serialize/checkpoint/job_file.h"
#include "tests/scheduler/control_fixtures.h"

/* A file in the fixture's folder, in a static buffer. */
const char *job_file_path(const ControlFixture *fixture, const char *name);
Error *job_file_export(ControlFixture *fixture, JobId id, bool owns, const char *path);
Error *job_file_import(ControlFixture *fixture, const char *path, bool with_outputs, JobId *out_id);
/* All of an answer into a file; the stream is closed. */
Error *job_file_pull(HttpStream *stream, const char *path);
/* The same file with other sections, checksums right. Only for files without chunks. */
void job_file_forge(const char *path, const JobFile *file, const Container *execution);
/* What the first float of the inputs is. */
float job_file_first_input(const Container *container, const JobFile *file, int64_t *out_count);
