#pragma once
/* What the Scan of all opsets and the one of opset 8, over a batch, share: one scan. */
#include "compiler/frontend/onnx_internal.h"

/* All rows of a product that the body would make of each slice of a scan input. */
typedef struct ScanProduct {
    const char *name; /* in the body */
    uint32_t input;   /* of the scan inputs */
    IrVariable *whole;
} ScanProduct;

typedef struct ScanParts {
    const Onnx__GraphProto *body;
    uint32_t state_count, input_count, output_count; /* state values, scan inputs, scan outputs */
    const char *directions;                          /* the attribute for scan inputs */
    IrBlock *block;                                  /* bindings go to its end */
    IrVariable **states, **inputs;                   /* there are none that are absent */
    IrVariable *length;                              /* rounds, an int */
    uint32_t product_count;
    ScanProduct *products;
} ScanParts;

/* Counts and values, without length. first: the input of the node that is the first state value. */
MUST_CHECK Error *onnx_scan_read(const OnnxNode *node, uint32_t first, ScanParts *out);
/* Entry index of an optional list attribute, 0 where the list is absent. */
MUST_CHECK Error *onnx_scan_list_entry(
    const OnnxNode *node, const char *name, uint32_t index, uint32_t count, int64_t *out);
/* Dimension `axis` of a tensor as an int. */
MUST_CHECK Error *onnx_scan_length(
    const OnnxNode *node, IrBlock *block, IrVariable *tensor, int64_t axis, IrVariable **out);
/* The run fails there with the text where the condition (a bool) does not hold. */
MUST_CHECK Error *onnx_scan_assert(IrBlock *block, IrVariable *condition, const char *text);
/* The loop. out_results: state values, then scan outputs joined. */
MUST_CHECK Error *onnx_scan_run(
    const OnnxNode *node, const ScanParts *parts, IrVariable **out_results);
/* onnx_scan_products.c: takes products of slices with constant matrices out of the body. */
MUST_CHECK Error *onnx_scan_take_products(const OnnxNode *node, ScanParts *parts);
/* onnx_scan_batched.c: the Scan of opset 8. */
MUST_CHECK Error *onnx_scan_convert_batched(const OnnxNode *node);
