#pragma once
/* Converts one scan; shared by the Scan of all opsets (onnx_scan.c) and the batched one of opset 8.
 * Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

/* A product that the body makes of each slice of a scan input, computed for all rows at once. */
typedef struct ScanProduct {
    const char *name; /* its name in the body */
    uint32_t input;   /* index of the scan input */
    IrVariable *whole;
} ScanProduct;

typedef struct ScanParts {
    const Onnx__GraphProto *body;
    uint32_t state_count, input_count, output_count; /* state values, scan inputs, scan outputs */
    const char *directions;        /* the attribute that gives the directions of scan inputs */
    IrBlock *block;                /* new bindings go to its end */
    IrVariable **states, **inputs; /* none is absent */
    IrVariable *length;            /* number of rounds, an int */
    uint32_t product_count;
    ScanProduct *products;
} ScanParts;

/* Reads counts and values, but not length. first: the node's input that is the first state value.
 */
MUST_CHECK Error *onnx_scan_read(const OnnxNode *node, uint32_t first, ScanParts *out);
/* Reads one entry of an optional list attribute, 0 when the list is absent. */
MUST_CHECK Error *onnx_scan_list_entry(
    const OnnxNode *node, const char *name, uint32_t index, uint32_t count, int64_t *out);
/* Makes an int of dimension `axis` of a tensor. */
MUST_CHECK Error *onnx_scan_length(
    const OnnxNode *node, IrBlock *block, IrVariable *tensor, int64_t axis, IrVariable **out);
/* Adds a check: the run fails there with the text unless the condition (a bool) holds. */
MUST_CHECK Error *onnx_scan_assert(IrBlock *block, IrVariable *condition, const char *text);
/* Makes the loop. out_results: state values, then scan outputs joined. */
MUST_CHECK Error *onnx_scan_run(
    const OnnxNode *node, const ScanParts *parts, IrVariable **out_results);
/* onnx_scan_products.c: moves products of slices with constant matrices out of the body. */
MUST_CHECK Error *onnx_scan_take_products(const OnnxNode *node, ScanParts *parts);
/* onnx_scan_batched.c: the Scan of opset 8. */
MUST_CHECK Error *onnx_scan_convert_batched(const OnnxNode *node);
