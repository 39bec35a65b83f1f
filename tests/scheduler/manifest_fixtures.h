#pragma once
/* Jobs on their way from one home to another. */
#include "scheduler/jobs/job_manifest.h"
#include "store/chunks/chunk_reader.h"
#include "tests/scheduler/job_file_fixtures.h"

/* Two nodes with the same model, and what of a job has gone from one to the other. */
typedef struct ManifestFixture {
    ControlFixture from, to;
    JobManifest *job_manifest;
    ChunkUpload *upload; /* in the home it goes to */
    ChunkReader *reader;
    JobImportRequest wanted; /* of the manifest, with chunks from the reader */
} ManifestFixture;

void manifest_fixture_init(ManifestFixture *fixture);
void manifest_fixture_deinit(ManifestFixture *fixture);
#define OWN_MANIFEST(name) __attribute__((cleanup(manifest_fixture_deinit))) name

/* Opens the job's manifest, in place of the last one, and what it needs to be imported. */
void manifest_fixture_open(ManifestFixture *fixture, JobId id);
/* Brings its chunks into the other home. */
void manifest_fixture_send(ManifestFixture *fixture);
Error *manifest_fixture_import(ManifestFixture *fixture, JobId *out_id);
