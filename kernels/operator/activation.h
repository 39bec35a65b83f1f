#pragma once
/* The activations that fused operators apply at their end (attributes activation, activation_alpha,
 * activation_beta). Used by the kernels of products and convolutions and by the expansions. Pure:
 * no state. */
#include "base/error.h"
#include "kernels/operator/attributes.h"

typedef enum Activation {
    ACTIVATION_NONE,       /* "" */
    ACTIVATION_RELU,       /* "relu" */
    ACTIVATION_LEAKY_RELU, /* "leaky_relu": activation_alpha is the slope below 0 */
    ACTIVATION_CLIP,       /* "clip": to activation_alpha … activation_beta */
    ACTIVATION_TANH,       /* "tanh" */
    ACTIVATION_SIGMOID,    /* "sigmoid" */
    ACTIVATION_HARD_SWISH, /* "hard_swish" */
    ACTIVATION_GELU_ERF,   /* "gelu_erf" */
    ACTIVATION_GELU_TANH,  /* "gelu_tanh" */
    ACTIVATION_SWISH,      /* "swish": activation_alpha scales the sigmoid's argument */
    ACTIVATION_MISH,       /* "mish" */
    /* "scaled_hard_swish": activation_alpha * hard_swish + activation_beta */
    ACTIVATION_SCALED_HARD_SWISH,
    ACTIVATION_COUNT
} Activation;

/* Reads the activation of a checked FusedConv or FusedMatMul. Errors: INVALID unknown name. */
MUST_CHECK Error *activation_of(const Attributes *attributes, Activation *out);
const char *activation_name(Activation activation);
