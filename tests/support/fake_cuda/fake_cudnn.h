#pragma once
/* The descriptors of the libcudnn.so.9 for the fake driver. */
#include <stdatomic.h>

#include "kernels/tensor/dtype.h"
#include "tests/support/fake_cuda/fake_driver.h"

enum {
    FAKE_CUDNN_VERSION = 91900,
    FAKE_CUDNN_ATTRIBUTES_MAX = 8, /* of a descriptor */
    FAKE_CUDNN_VALUES_MAX = 8,     /* of an attribute */
    FAKE_CUDNN_BY_VALUE_MAX = 8,   /* bytes of a value */
};

struct cudnnContext {
    struct CUctx_st *context;
    CUstream stream;
    atomic_flag busy; /* two threads at once are a mistake */
};

typedef struct FakeAttribute {
    int name;
    int64_t count; /* 0: not set */
    uint8_t values[FAKE_CUDNN_VALUES_MAX * FAKE_CUDNN_BY_VALUE_MAX];
} FakeAttribute;

/* The attributes of a finalized tensor, for those who read each of its elements. */
typedef struct FakeTensor {
    DType dtype;
    bool is_virtual;
    int64_t id, rank;
    const int64_t *dims, *strides; /* the attributes' values */
} FakeTensor;

/* Refers to the descriptors that it was given, also when they have been destroyed. */
typedef struct FakeDescriptor FakeDescriptor;
struct FakeDescriptor {
    atomic_int references;
    int type;
    bool finalized;
    int engine; /* of engines, configs and plans */
    FakeAttribute attributes[FAKE_CUDNN_ATTRIBUTES_MAX];
    FakeTensor tensor;
};

void fake_cudnn_retain(FakeDescriptor *descriptor);
void fake_cudnn_release(FakeDescriptor *descriptor);
/* Keeps the reason for cudnnGetLastErrorString; answers the status. */
int fake_cudnn_refuse(int status, const char *reason);
/* NULL: not set. */
const FakeAttribute *fake_cudnn_get(const FakeDescriptor *descriptor, int name);
/* Whether its values are descriptors. */
bool fake_cudnn_refers(const FakeDescriptor *descriptor, const FakeAttribute *attribute);
/* Those of attributes that are set. */
const int64_t *fake_cudnn_ints(const FakeDescriptor *descriptor, int name, int64_t *out_count);
int64_t fake_cudnn_int(const FakeDescriptor *descriptor, int name);
int fake_cudnn_choice(const FakeDescriptor *descriptor, int name);
FakeDescriptor *fake_cudnn_other(const FakeDescriptor *descriptor, int name, int64_t index);

/* ---- fake_cudnn_graph.c ---- */

/* What is wrong with one whose attributes are all there. Answers a status. */
int fake_cudnn_check(FakeDescriptor *descriptor);

/* ---- fake_cudnn_engine.c ---- */

enum { FAKE_CUDNN_ENGINES_MAX = 4 };

typedef struct FakeEngine {
    int64_t workspace_bytes;
    int note_count, note;
    bool compiles, fails; /* at run time; when a plan is made */
    bool rounds;          /* float32 to TF32 */
} FakeEngine;

const FakeEngine *fake_cudnn_engine(int number);
/* How many engines there are for a graph in a mode; -1: the mode does not support it. */
int64_t fake_cudnn_suggest(const FakeDescriptor *heuristics, int *out_engines);
