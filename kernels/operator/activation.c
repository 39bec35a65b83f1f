#include "kernels/operator/activation.h"

#include <string.h>

static const char *const names[ACTIVATION_COUNT] = {
    [ACTIVATION_NONE] = "",
    [ACTIVATION_RELU] = "relu",
    [ACTIVATION_LEAKY_RELU] = "leaky_relu",
    [ACTIVATION_CLIP] = "clip",
    [ACTIVATION_TANH] = "tanh",
    [ACTIVATION_SIGMOID] = "sigmoid",
    [ACTIVATION_HARD_SWISH] = "hard_swish",
    [ACTIVATION_GELU_ERF] = "gelu_erf",
    [ACTIVATION_GELU_TANH] = "gelu_tanh",
    [ACTIVATION_SWISH] = "swish",
    [ACTIVATION_MISH] = "mish",
    [ACTIVATION_SCALED_HARD_SWISH] = "scaled_hard_swish",
};

Error *activation_of(const Attributes *attributes, Activation *out) {
    const char *name = attributes_text(attributes, "activation");
    for (uint32_t i = 0; i < ACTIVATION_COUNT; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out = (Activation)i;
        return NULL;
    }
    FAIL(INVALID, "unknown activation \"%.40s\"", name);
}

const char *activation_name(Activation activation) { return names[activation]; }
