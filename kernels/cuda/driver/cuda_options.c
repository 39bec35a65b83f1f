#include "kernels/cuda/driver/cuda_options.h"

#include <string.h>

static Error *read_switch(const DeviceOption *option, bool *out) {
    bool on = strcmp(option->value, "on") == 0;
    if (!on && strcmp(option->value, "off") != 0)
        FAIL(USAGE, "%s=%s is neither on nor off", option->name, option->value);
    *out = on;
    return NULL;
}

Error *cuda_options_read(const char *options, CudaOptions *out) {
    CudaOptions read = {0};
    bool compiles = true;
    for (;;) {
        bool found;
        DeviceOption option;
        TRY(device_option_next(&options, &option, &found));
        if (!found) break;
        if (strcmp(option.name, "memory") == 0)
            TRY(device_option_bytes(&option, &read.memory_bytes));
        else if (strcmp(option.name, "tf32") == 0)
            TRY(read_switch(&option, &read.tf32));
        else if (strcmp(option.name, "graphs") == 0)
            TRY(read_switch(&option, &read.graphs));
        else if (strcmp(option.name, "compile") == 0)
            TRY(read_switch(&option, &compiles));
        else
            FAIL(USAGE, "cuda has no option \"%s\"; there are: memory, tf32, graphs, compile",
                option.name);
    }
    read.interprets = !compiles;
    *out = read;
    return NULL;
}
