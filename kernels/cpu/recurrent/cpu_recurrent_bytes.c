#include "kernels/cpu/recurrent/cpu_recurrent_bytes.h"

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_lower_operands.h"

/* The inputs of a side: weights, scales, zero points. */
static const struct {
    uint32_t weights, scale, zero_point;
} inputs_of[CPU_RECURRENT_SIDES] = {{1, 8, 9}, {2, 10, 11}};

CPU_INLINE void add_row_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}
CPU_VARIANTS(
    add_row, (const float *a, const float *b, int64_t count, float *to), (a, b, count, to));

/* ---- the plan ---- */

static Error *place_operand(
    const CpuRecurrentBytes *bytes, CpuRecurrentOperand *operand, uint64_t *inout_total) {
    const int64_t depth = operand->columns.b.depth, counts[2] = {operand->rows, depth};
    uint64_t columns;
    operand->plain_offset = *inout_total;
    TRY(cpu_lower_reserve(1, 2, counts, inout_total));
    operand->rows_offset = *inout_total;
    if (!operand->in_place)
        TRY(cpu_lower_reserve(
            (uint64_t)cpu_lower_row_bytes(bytes->form, depth), 1, counts, inout_total));
    operand->sums_offset = *inout_total;
    TRY(cpu_lower_reserve(sizeof(uint32_t), 1, counts, inout_total));
    operand->columns_offset = *inout_total;
    TRY(cpu_integer_columns_bytes(&operand->columns, &columns));
    return cpu_lower_reserve(columns, 0, NULL, inout_total);
}

Error *cpu_recurrent_bytes_of(Device *device, CpuLevel level, const PlanRequest *request,
    const int64_t rows[CPU_RECURRENT_SIDES], CpuRecurrentBytes *out) {
    CpuRecurrentBytes bytes = {.form = cpu_lower_form(cpu_device(device), true)};
    bytes.product = cpu_lower_product_for(level, bytes.form);
    bytes.bytes = cpu_lower_bytes_for(level, bytes.form);
    bytes.row = cpu_lower_rows_for(level, bytes.form);
    bytes.add = add_row_for(level);
    bytes.quantize = cpu_dynamic_quantize_for(level);
    cpu_widen_init(DTYPE_FLOAT32, &bytes.widen);
    for (int side = 0; side < CPU_RECURRENT_SIDES; side++) {
        CpuRecurrentOperand *operand = &bytes.operands[side];
        TRY(cpu_integer_columns_of(request, bytes.form, inputs_of[side].weights,
            inputs_of[side].zero_point, inputs_of[side].scale, &operand->columns));
        operand->rows = rows[side];
        operand->in_place = bytes.form == CPU_LOWER_INT8_DOT &&
                            operand->columns.b.depth % cpu_lower_forms[bytes.form].group == 0;
        TRY(place_operand(&bytes, operand, &bytes.workspace_bytes));
    }
    *out = bytes;
    return NULL;
}

/* ---- rows ---- */

Error *cpu_recurrent_bytes_begin(const CpuRecurrentBytes *bytes, CpuDevice *device,
    const Launch *launch, void *workspace, CpuRecurrentBytesRun *out) {
    char *places = workspace;
    *out = (CpuRecurrentBytesRun){.bytes = bytes, .device = device, .launch = launch};
    for (int side = 0; side < CPU_RECURRENT_SIDES; side++) {
        const CpuRecurrentOperand *operand = &bytes->operands[side];
        out->sides[side].plain = (uint8_t *)(void *)(places + operand->plain_offset);
        out->sides[side].rows =
            places + (operand->in_place ? operand->plain_offset : operand->rows_offset);
        out->sides[side].sums = (uint32_t *)(void *)(places + operand->sums_offset);
        TRY(cpu_integer_columns_read(&operand->columns, device, launch, &bytes->widen,
            places + operand->columns_offset, &out->sides[side].columns));
    }
    return NULL;
}

typedef struct RowsRun {
    const CpuRecurrentBytesRun *run;
    CpuRecurrentSide side;
} RowsRun;

/* Brings quantized rows into the form that is multiplied. */
static Error *form_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const RowsRun *rows = context;
    const CpuRecurrentBytesRun *run = rows->run;
    const CpuRecurrentOperand *operand = &run->bytes->operands[rows->side];
    const int64_t depth = operand->columns.b.depth;
    const int64_t row_bytes = cpu_lower_row_bytes(run->bytes->form, depth);
    const bool corrects = run->sides[rows->side].columns.corrects;
    (void)part;
    for (int64_t row = (int64_t)begin; row < (int64_t)end; row++) {
        TRY(kernel_stop_check());
        char *to = operand->in_place ? NULL : run->sides[rows->side].rows + row * row_bytes;
        run->bytes->bytes.row(run->sides[rows->side].plain + row * depth, 0,
            run->sides[rows->side].zero, depth, to,
            corrects ? &run->sides[rows->side].sums[row] : NULL);
    }
    return NULL;
}

Error *cpu_recurrent_bytes_quantize(
    CpuRecurrentBytesRun *run, CpuRecurrentSide side, const float *from) {
    const CpuRecurrentOperand *operand = &run->bytes->operands[side];
    const int64_t depth = operand->columns.b.depth, count = operand->rows * depth;
    CpuDynamicScale scale;
    RowsRun rows = {run, side};
    TRY(cpu_dynamic_quantize_run(&run->bytes->quantize, run->device, run->launch->threads, from,
        count, run->sides[side].plain, &scale));
    run->sides[side].step = scale.scale;
    run->sides[side].zero = scale.zero_point;
    if (operand->in_place && !run->sides[side].columns.corrects) return NULL;
    return cpu_for_each(run->device, run->launch->threads, (uint64_t)operand->rows,
        cpu_lower_units_of_elements(depth), form_rows, &rows);
}

/* ---- products ---- */

/* Adds up the products of at most CPU_LOWER_ROWS rows and CPU_LOWER_COLUMNS columns. */
static Error *sum_tile(
    const CpuRecurrentBytesRun *run, const CpuRecurrentPlace *place, int32_t *sums) {
    const CpuLowerForm form = run->bytes->form;
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    const CpuIntegerOperand *b = &run->bytes->operands[place->side].columns.b;
    const int64_t groups = cpu_lower_groups(form, b->depth);
    const int64_t panel = cpu_lower_panel_bytes(form, b->depth);
    const int64_t row = cpu_lower_row_bytes(form, b->depth);
    const int64_t group = cpu_lower_group_bytes(form), block = CPU_LOWER_BLOCK / group;
    const int64_t first =
        place->direction * cpu_lower_panels(b->lines) + place->column / CPU_LOWER_PANEL;
    const char *panels = run->sides[place->side].columns.panels + first * panel;
    int32_t zeros[CPU_LOWER_ROWS];
    for (int64_t r = 0; r < place->rows; r++) zeros[r] = run->sides[place->side].zero;
    CpuLowerTile tile = {.rows = place->rows,
        .panels = cpu_lower_panels(place->columns),
        .a_row = row,
        .b_panel = panel,
        .out = sums,
        .zeros = zeros,
        .heads = panels};
    int64_t at = 0;
    do { /* once for depth 0: writes zeros */
        TRY(kernel_stop_check());
        tile.groups = groups - at < block ? groups - at : block;
        tile.a =
            run->sides[place->side].rows + place->row * row + at * info->group * info->row_size;
        tile.b = panels + info->head + at * group;
        tile.accumulate = at > 0;
        run->bytes->product(&tile);
        at += block;
    } while (at < groups);
    return NULL;
}

static Error *run_tile(const CpuRecurrentBytesRun *run, const CpuRecurrentPlace *place) {
    const CpuRecurrentBytes *bytes = run->bytes;
    const CpuIntegerColumnsRun *columns = &run->sides[place->side].columns;
    const int64_t width = bytes->operands[place->side].columns.b.lines;
    const int64_t first = place->direction * width + place->column;
    int32_t sums[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
    TRY(sum_tile(run, place, sums));
    for (int64_t r = 0; r < place->rows; r++) {
        int32_t *row = sums + r * CPU_LOWER_COLUMNS;
        float *out = place->out + (place->row + r) * width + place->column;
        if (columns->corrects)
            bytes->bytes.adjust(row, NULL, columns->zeros + first,
                run->sides[place->side].sums[place->row + r], place->columns);
        bytes->row.scale(
            row, run->sides[place->side].step, columns->scales + first, place->columns, out);
        if (place->bias) bytes->add(out, place->bias + place->column, place->columns, out);
    }
    return NULL;
}

Error *cpu_recurrent_bytes_part(const CpuRecurrentBytesRun *run, const CpuRecurrentPlace *place) {
    const int64_t row_end = place->row + place->rows, column_end = place->column + place->columns;
    for (int64_t column = place->column; column < column_end; column += CPU_LOWER_COLUMNS)
        for (int64_t row = place->row; row < row_end; row += CPU_LOWER_ROWS) {
            CpuRecurrentPlace tile = *place;
            const int64_t rows = row_end - row, columns = column_end - column;
            tile.row = row;
            tile.column = column;
            tile.rows = rows < CPU_LOWER_ROWS ? rows : CPU_LOWER_ROWS;
            tile.columns = columns < CPU_LOWER_COLUMNS ? columns : CPU_LOWER_COLUMNS;
            TRY(run_tile(run, &tile));
        }
    return NULL;
}

typedef struct ProductRun {
    const CpuRecurrentBytesRun *run;
    CpuRecurrentPlace all;
    int64_t row_tiles;
} ProductRun;

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const ProductRun *product = context;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        CpuRecurrentPlace place = product->all;
        place.row = unit % product->row_tiles * CPU_LOWER_ROWS;
        place.column = unit / product->row_tiles * CPU_LOWER_COLUMNS;
        const int64_t rows = product->all.rows - place.row;
        const int64_t columns = product->all.columns - place.column;
        place.rows = rows < CPU_LOWER_ROWS ? rows : CPU_LOWER_ROWS;
        place.columns = columns < CPU_LOWER_COLUMNS ? columns : CPU_LOWER_COLUMNS;
        TRY(run_tile(product->run, &place));
    }
    return NULL;
}

Error *cpu_recurrent_bytes_multiply(const CpuRecurrentBytesRun *run, CpuRecurrentSide side,
    int64_t direction, const float *bias, float *out) {
    enum { UNIT_COST = 4000000 }; /* multiply-adds that are worth a thread */
    const CpuRecurrentOperand *operand = &run->bytes->operands[side];
    const CpuIntegerOperand *b = &operand->columns.b;
    ProductRun product = {
        .run = run,
        .all = {.side = side,
            .direction = direction,
            .rows = operand->rows,
            .columns = b->lines,
            .bias = bias,
            .out = out},
        .row_tiles = (operand->rows + CPU_LOWER_ROWS - 1) / CPU_LOWER_ROWS,
    };
    const int64_t column_tiles = (b->lines + CPU_LOWER_COLUMNS - 1) / CPU_LOWER_COLUMNS;
    const int64_t rows = operand->rows < CPU_LOWER_ROWS ? operand->rows : CPU_LOWER_ROWS;
    const int64_t cost = (rows + 32) * CPU_LOWER_COLUMNS * (b->depth + 16);
    return cpu_for_each(run->device, run->launch->threads,
        (uint64_t)(product.row_tiles * column_tiles), (uint64_t)(UNIT_COST / cost) + 1, run_tiles,
        &product);
}
