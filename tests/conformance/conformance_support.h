#pragma once
/* What serves which operator with which element type on a device: asked of the device's plan
 * function, with the rows of cases.def. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

/* Bits: the rows of one operator need not agree. */
typedef enum ConformanceServed {
    SERVED_BY_KERNEL = 1,    /* of the device's own */
    SERVED_BY_EXPANSION = 2, /* a fused operator, as the plain ones it stands for */
    SERVED_BY_HOST = 4,      /* the host's kernel, with copies there and back */
    SERVED_AS_VIEW = 8,      /* nothing to run */
    SERVED_NOT = 16,         /* the operator takes this element type, but the device does not */
} ConformanceServed;

enum { SUPPORT_KERNELS_MAX = 16 };

typedef struct ConformanceSupport {
    uint8_t served[DTYPE_COUNT]; /* 0: the operator does not take this type */
    const char *kernels[DTYPE_COUNT][SUPPORT_KERNELS_MAX];
    uint32_t kernel_count[DTYPE_COUNT];
} ConformanceSupport;

/* Element types are those of ONNX's type T; where an operator has none, of its first
 * operand. */
void conformance_support_ask(Device *device, const OperatorInfo *info, ConformanceSupport *out);
/* "K", "E", "H", "V", "-" and combinations; "" for 0. */
const char *conformance_support_letters(uint8_t served);
/* A Markdown table of all operators, or of one, by element type. */
void conformance_support_print(Device *device, const char *operator_name, TextBuilder *out);
