#include "tests/conformance/conformance.h"

/* On one device the bits depend on nothing but the inputs. */
typedef struct Variation {
    const char *name;
    uint32_t threads;
    uint32_t offset_elements;
    uint32_t in_place;
    bool pack;
    bool direct;
} Variation;

static const Variation variations[] = {
    {"the same again", 1, 0, 0, false, false},
    {"2 threads", 2, 0, 0, false, false},
    {"3 threads", 3, 0, 0, false, false},
    {"8 threads", 8, 0, 0, false, false},
    {"odd offset", 1, 1, 0, false, false},
    {"other odd offset, 3 threads", 3, 7, 0, false, false},
    {"over input 0", 1, 0, 1, false, false},
    {"over input 1", 2, 3, 2, false, false},
    {"over input 2", 1, 0, 3, false, false},
    {"over input 3", 1, 0, 4, false, false},
    {"packed", 1, 0, 0, true, false},
    {"packed, 3 threads, odd offset", 3, 5, 0, true, false},
    {"without a stream", 1, 0, 0, false, true},
};

static Error *run_hash(ConformanceRun *run, uint64_t *out) {
    TRY(device_call_run(&run->call, run->outputs, &run->kernel_name));
    *out = conformance_hash(run);
    conformance_release_outputs(run->outputs);
    return NULL;
}

static Error *vary(ConformanceRun *run) {
    uint64_t plain, hash;
    TRY(run_hash(run, &plain));
    DeviceCall call = run->call;
    for (size_t i = 0; i < sizeof variations / sizeof variations[0]; i++) {
        const Variation *variation = &variations[i];
        run->call = call;
        run->call.threads = variation->threads;
        run->call.offset_elements = variation->offset_elements;
        run->call.in_place = variation->in_place;
        run->call.pack = variation->pack;
        run->call.direct = variation->direct;
        TRY_WRAP(run_hash(run, &hash), "%s", variation->name);
        if (hash != plain)
            FAIL(INTERNAL, "%s: other bits with %s", run->kernel_name, variation->name);
    }
    return NULL;
}

/* Large rows would take minutes with one thread. */
bool conformance_equality_applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)on;
    return row->reference != NULL;
}

Error *conformance_equality(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    conformance_prepare(on->device, row, dtype, &run);
    Error *error = vary(&run);
    conformance_run_deinit(&run);
    return error;
}
