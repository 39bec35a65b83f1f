#pragma once
/* Jobs on their way from one home to another. */
#include "scheduler/jobs/job_parcel.h"
#include "store/chunks/chunk_reader.h"
#include "tests/scheduler/job_file_fixtures.h"

/* Two nodes with the same model, and what of a job has gone from one to the other. */
typedef struct ParcelFixture {
    ControlFixture from, to;
    JobParcel *parcel;
    ChunkUpload *upload; /* in the home it goes to */
    ChunkReader *reader;
    JobImport wanted; /* of the parcel, with chunks from the reader */
} ParcelFixture;

void parcel_fixture_init(ParcelFixture *fixture);
void parcel_fixture_deinit(ParcelFixture *fixture);
#define OWN_PARCEL(name) __attribute__((cleanup(parcel_fixture_deinit))) name

/* Opens the job's parcel, in place of the last one, and what it needs to be imported. */
void parcel_fixture_open(ParcelFixture *fixture, JobId id);
/* Brings its chunks into the other home. */
void parcel_fixture_send(ParcelFixture *fixture);
Error *parcel_fixture_import(ParcelFixture *fixture, JobId *out_id);
