#pragma once
/* Packs weights into the panels of cpu_lower_product.h. Called when constants are packed, and by
 * launches for operands that are no constants. Pure: no state. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

/* Bytes as they are multiplied: int8. Bytes without a sign become too small by 128, which is what a
 * flip of their highest bit does. */
enum { CPU_LOWER_FLIP = 0x80 };

/* Errors: INVALID too large. */
MUST_CHECK Error *cpu_lower_packed_bytes(
    CpuLowerForm form, int64_t depth, int64_t columns, uint64_t *out);
/* Writes panels [begin, end) of plain B [depth, columns] at their place in `packed`. flip: 0, or
 * CPU_LOWER_FLIP for weights of uint8; they follow the last row and column as zeros. */
void cpu_lower_pack(CpuLowerForm form, const void *b, uint8_t flip, int64_t depth, int64_t columns,
    int64_t begin, int64_t end, void *packed);
/* One panel of quads with its head: `count` columns from b on. Only where AVX512_VNNI is. */
void cpu_lower_pack_quads_dot(
    const uint8_t *b, uint8_t flip, int64_t depth, int64_t columns, int64_t count, char *panel);
