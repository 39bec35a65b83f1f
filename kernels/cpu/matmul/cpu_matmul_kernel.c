/* Cuts a matrix multiplication into tiles: panels of columns × chunks of rows × blocks of depth. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

#include <assert.h>

#include "kernels/cpu/core/cpu_scan.h"
#include "kernels/cpu/core/cpu_sweep.h"
#include "kernels/cpu/core/cpu_vector.h"

/* ---- the portable inner kernel: no fused multiply-add ---- */

CPU_INLINE void portable_row(const CpuMatmulTile *tile, int64_t row, int64_t column) {
    const int64_t count = tile->columns - column;
    float *out = tile->out + row * tile->out_row + column;
    CpuF32x16 sums = tile->accumulate ? cpu_f32x16_load_part(out, count, 0) : (CpuF32x16){0};
    const float *a = cpu_matmul_tile_row(tile, row);
    const float *b = tile->b + column / CPU_MATMUL_STRIP * tile->b_strip;
    for (int64_t k = 0; k < tile->depth; k++) {
        sums += cpu_f32x16_load_part(b, count, 0) * *a;
        a += tile->a_column;
        b += tile->b_row;
    }
    cpu_f32x16_store_part(out, count, sums);
}

void cpu_matmul_micro_portable(const CpuMatmulTile *tile) {
    for (int64_t column = 0; column < tile->columns; column += CPU_VECTOR_LANES)
        for (int64_t row = 0; row < tile->rows; row++) portable_row(tile, row, column);
}

CpuMatmulCode cpu_matmul_code_for(CpuLevel level) {
#if defined(__x86_64__)
    /* 64 columns in registers at a time; oneDNN reads the same panels */
    if (level == CPU_LEVEL_AVX512)
        return (CpuMatmulCode){.micro = cpu_matmul_micro_avx512,
            .row = cpu_matmul_row_avx512,
            .woven = cpu_matmul_woven_avx512,
            .rows = 96,
            .depth = 128,
            .finishes = true};
#endif
    CpuMatmulCode code = {
        .micro = cpu_matmul_micro_portable,
        .rows = CPU_MATMUL_ROWS_MAX,
        .depth = CPU_MATMUL_DEPTH_MAX,
        .in_strips = true,
        .takes_rows = true,
    };
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2) code.micro = cpu_matmul_micro_avx2, code.finishes = true;
#endif
    (void)level;
    return code;
}

/* ---- the run ---- */

static int64_t panel_count(int64_t columns) {
    return (columns + CPU_MATMUL_PANEL - 1) / CPU_MATMUL_PANEL;
}

typedef struct Run {
    const CpuMatmul *matmul;
    CpuMatmulBuffers buffers;
    bool packed;
    int64_t panels, packed_count;
    int64_t chunks, chunk_rows; /* pieces that the rows are cut into */
    bool rows_first;            /* all panels of some rows, then of the next rows */
    bool one_row;               /* over packed panels, which two streams of weights suit */
    CpuSweep sweep;             /* backwards: from the last panel to the first */
} Run;

static bool is_direct(const CpuMatmul *matmul) {
    return !matmul->has_bias && !matmul->has_residual && cpu_epilogue_is_plain(&matmul->epilogue);
}

typedef struct Unit {
    int64_t row, rows;       /* of C */
    int64_t column, columns; /* of C */
    const float *a, *bias, *residual;
    float *c;               /* the batch's matrix */
    const float *b, *b_end; /* of a panel; b_end is NULL for plain B */
    CpuPanelSteps steps;    /* of the panel in b */
} Unit;

static void finish_unit(const CpuMatmul *matmul, const Unit *unit, const float *sums) {
    const int64_t first = unit->row * matmul->columns + unit->column;
    const bool beside = matmul->bias_column == 1 || unit->columns == 1;
    if (!unit->bias || (matmul->bias_row == 0 && beside)) {
        const CpuEpilogueRows rows = {
            .rows = unit->rows,
            .count = unit->columns,
            .sums = sums,
            .sums_step = CPU_MATMUL_PANEL,
            .bias = unit->bias ? unit->bias + unit->column * matmul->bias_column : NULL,
            .residual = unit->residual ? unit->residual + first : NULL,
            .to = unit->c + first,
            .to_step = matmul->columns,
        };
        matmul->epilogue_rows(&matmul->epilogue, &rows);
        return;
    }
    for (int64_t i = 0; i < unit->rows; i++) {
        const int64_t row = unit->row + i;
        const float *bias =
            unit->bias ? unit->bias + row * matmul->bias_row + unit->column * matmul->bias_column
                       : NULL;
        const int64_t at = row * matmul->columns + unit->column;
        matmul->epilogue_row(&matmul->epilogue, sums + i * CPU_MATMUL_PANEL, unit->columns, bias,
            matmul->bias_column, unit->residual ? unit->residual + at : NULL, unit->c + at);
    }
}

/* True when one tile can compute and finish the unit. */
static bool finishes(const CpuMatmul *matmul, const Unit *unit) {
    return matmul->code.finishes && cpu_epilogue_is_linear(&matmul->epilogue) &&
           (!unit->bias || (matmul->bias_row == 0 && matmul->bias_column == 1));
}

/* A unit that is computed by parts of the depth. */
typedef struct Pass {
    const CpuMatmul *matmul;
    const Unit *unit;
    float *sums; /* [rows][CPU_MATMUL_PANEL] */
    bool direct, finished;
    CpuTileFinish finish;
    CpuMatmulTile tile;
} Pass;

static Pass begin_pass(const CpuMatmul *matmul, const Unit *unit, float *sums) {
    const int64_t first = unit->row * matmul->columns + unit->column;
    const bool direct = is_direct(matmul);
    return (Pass){
        .matmul = matmul,
        .unit = unit,
        .sums = sums,
        .direct = direct,
        .finished = !direct && finishes(matmul, unit),
        .finish = {.bias = unit->bias ? unit->bias + unit->column : NULL,
            .residual = unit->residual ? unit->residual + first : NULL,
            .relu = matmul->epilogue.activation == ACTIVATION_RELU,
            .to = unit->c + first,
            .to_row = matmul->columns},
        .tile = {.rows = unit->rows,
            .columns = unit->columns,
            .a_row = matmul->a_row,
            .a_column = matmul->a_column,
            .b_row = unit->steps.row,
            .b_strip = unit->steps.strip,
            .out = direct ? unit->c + first : sums,
            .out_row = direct ? matmul->columns : CPU_MATMUL_PANEL},
    };
}

/* The part from k on. Once for depth 0, too: writes zeros. */
static void pass_part(Pass *pass, int64_t k) {
    const CpuMatmul *matmul = pass->matmul;
    const Unit *unit = pass->unit;
    CpuMatmulTile *tile = &pass->tile;
    const int64_t next = k + matmul->code.depth;
    tile->depth = (next < matmul->depth ? next : matmul->depth) - k;
    tile->a = unit->a + unit->row * matmul->a_row + k * matmul->a_column;
    tile->b = unit->b + k * unit->steps.row;
    tile->accumulate = k > 0;
    tile->b_next = next < matmul->depth ? unit->b + next * unit->steps.row : unit->b_end;
    if (next >= matmul->depth && pass->finished) tile->finish = &pass->finish;
    matmul->code.micro(tile);
}

static void end_pass(const Pass *pass) {
    if (!pass->direct && !pass->finished) finish_unit(pass->matmul, pass->unit, pass->sums);
}

static void run_unit(const CpuMatmul *matmul, const Unit *unit) {
    float sums[CPU_MATMUL_ROWS_MAX * CPU_MATMUL_PANEL];
    Pass pass = begin_pass(matmul, unit, sums);
    int64_t k = 0;
    do pass_part(&pass, k);
    while ((k += matmul->code.depth) < matmul->depth && !kernel_stop_ends());
    end_pass(&pass);
}

/* Computes one row of A with one or two whole panels. */
static void run_row(const CpuMatmul *matmul, const Unit *unit, bool near) {
    float sums[2 * CPU_MATMUL_PANEL];
    const bool direct = is_direct(matmul);
    const CpuRowPanels panels = {.count = (int)(unit->columns / CPU_MATMUL_PANEL),
        .near = near,
        .out = direct ? unit->c + unit->column : sums};
    matmul->code.row(unit->a, matmul->a_column, unit->b, matmul->depth, &panels);
    if (!direct) finish_unit(matmul, unit, sums);
}

/* Up to `most` rows from `row` on and a panel's columns. b: the matrix. */
static Unit unit_at(const CpuMatmul *matmul, bool packed, int64_t row, int64_t most, int64_t panel,
    const float *b) {
    const int64_t column = panel * CPU_MATMUL_PANEL;
    const int64_t rows_left = matmul->rows - row, columns_left = matmul->columns - column;
    const int64_t width = cpu_matmul_panel_width(columns_left);
    if (packed) b += column * matmul->depth;
    return (Unit){
        .row = row,
        .rows = rows_left < most ? rows_left : most,
        .column = column,
        .columns = columns_left < CPU_MATMUL_PANEL ? columns_left : CPU_MATMUL_PANEL,
        .b = packed ? b : b + column,
        .b_end = packed ? b + width * matmul->depth : NULL,
        .steps = packed ? cpu_matmul_panel_steps(&matmul->code, matmul->depth, width)
                        : (CpuPanelSteps){matmul->b_row, CPU_MATMUL_STRIP},
    };
}

void cpu_matmul_run_panel(
    const CpuMatmul *matmul, const CpuMatmulBuffers *buffers, int64_t panel, bool near) {
    assert(matmul->b_packed && matmul->batch_count == 1);
    for (int64_t row = 0; row < matmul->rows; row += matmul->code.rows) {
        Unit unit = unit_at(matmul, true, row, matmul->code.rows, panel, buffers->b);
        unit.a = buffers->a;
        unit.c = buffers->c;
        unit.bias = buffers->bias;
        unit.residual = buffers->residual;
        if (matmul->rows == 1 && matmul->code.row && unit.columns == CPU_MATMUL_PANEL)
            run_row(matmul, &unit, near);
        else
            run_unit(matmul, &unit);
    }
}

static Unit unit_of(const Run *run, int64_t index) {
    const CpuMatmul *matmul = run->matmul;
    const CpuMatmulBuffers *buffers = &run->buffers;
    const int64_t per_batch = run->panels * run->chunks;
    const int64_t batch = index / per_batch, at = index % per_batch;
    const int64_t panel = run->rows_first ? at % run->panels : at / run->chunks;
    const int64_t chunk = run->rows_first ? at / run->panels : at % run->chunks;
    Unit unit = unit_at(matmul, run->packed, chunk * run->chunk_rows, run->chunk_rows, panel,
        buffers->b + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->b_batch));
    unit.a = buffers->a + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->a_batch);
    const int64_t c_offset = batch * matmul->rows * matmul->columns;
    unit.c = buffers->c + c_offset;
    if (matmul->has_residual) unit.residual = buffers->residual + c_offset;
    if (matmul->has_bias)
        unit.bias =
            buffers->bias + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->bias_batch);
    return unit;
}

/* True when this unit and the next are two whole panels of one row. */
static bool is_pair(const Run *run, int64_t index) {
    const CpuMatmul *matmul = run->matmul;
    return run->one_row && matmul->code.row &&
           (index % run->panels + 2) * CPU_MATMUL_PANEL <= matmul->columns;
}

/* Computes unit `first` and, if both are a pair, the next one. */
static void run_pair(const Run *run, int64_t first, bool is_whole) {
    Unit unit = unit_of(run, first);
    if (is_whole) {
        unit.columns = 2 * CPU_MATMUL_PANEL;
        run_row(run->matmul, &unit, run->sweep.near);
    } else
        run_unit(run->matmul, &unit);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const int64_t count = (int64_t)(end - begin);
    for (int64_t done = 0, taken; done < count; done += taken) {
        TRY(kernel_stop_check());
        taken = done + 1 < count ? 2 : 1;
        int64_t first = (int64_t)begin + (run->sweep.backwards ? count - done - taken : done);
        if (taken == 2 && !is_pair(run, first)) {
            taken = 1;
            if (run->sweep.backwards) first++;
        }
        run_pair(run, first, taken == 2);
    }
    return NULL;
}

/* ---- one row, together with rows of other launches ---- */

/* For smaller weights the wait for the last part costs more than the sharing saves. */
enum { SCAN_BYTES_MIN = 4 << 20 };

/* True for weights that are read from memory. */
static bool is_scanned(const Run *run, const Launch *launch) {
    const CpuMatmul *matmul = run->matmul;
    return run->one_row && launch->threads <= 1 && !run->sweep.near && matmul->batch_count == 1 &&
           (uint64_t)run->packed_count * sizeof(float) >= SCAN_BYTES_MIN;
}

static bool alike(Run *const *runs, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (runs[i]->matmul->depth != runs[0]->matmul->depth ||
            runs[i]->matmul->columns != runs[0]->matmul->columns ||
            runs[i]->matmul->code.micro != runs[0]->matmul->code.micro)
            return false;
    return true;
}

/* Multiplies a panel with several rows: the first row reads each part of its depth from memory, the
 * others from a cache. */
static void run_rows(Run *const *runs, uint32_t count, int64_t panel) {
    float sums[CPU_SCAN_READERS_MAX][CPU_MATMUL_PANEL];
    Unit units[CPU_SCAN_READERS_MAX];
    Pass passes[CPU_SCAN_READERS_MAX];
    const CpuMatmul *matmul = runs[0]->matmul;
    for (uint32_t i = 0; i < count; i++) {
        units[i] = unit_of(runs[i], panel);
        passes[i] = begin_pass(runs[i]->matmul, &units[i], sums[i]);
    }
    for (int64_t k = 0; k < matmul->depth; k += matmul->code.depth)
        for (uint32_t i = 0; i < count; i++) pass_part(&passes[i], k);
    for (uint32_t i = 0; i < count; i++) end_pass(&passes[i]);
}

/* A part is two panels, or the last one. */
static void scan_part(void *const *contexts, uint32_t count, int64_t part) {
    Run *runs[CPU_SCAN_READERS_MAX];
    for (uint32_t i = 0; i < count; i++) runs[i] = contexts[i];
    const bool shared = count > 1 && alike(runs, count);
    for (uint32_t i = 0; i < count && !shared; i++)
        if (is_pair(runs[i], 2 * part)) {
            run_pair(runs[i], 2 * part, true);
        } else {
            run_pair(runs[i], 2 * part, false);
            if (2 * part + 1 < runs[i]->panels) run_pair(runs[i], 2 * part + 1, false);
        }
    for (int64_t panel = 2 * part; shared && panel < 2 * part + 2 && panel < runs[0]->panels;
         panel++)
        run_rows(runs, count, panel);
}

typedef struct PackRun {
    const CpuMatmul *matmul;
    const float *b;
    float *packed;
    int64_t panels, packed_count;
} PackRun;

static Error *pack_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const PackRun *run = context;
    const CpuMatmul *matmul = run->matmul;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t matrix = i / run->panels;
        cpu_matmul_pack_panel(&matmul->code, run->b + matrix * matmul->depth * matmul->columns,
            matmul->b_row, matmul->b_column, matmul->depth, matmul->columns, i % run->panels,
            run->packed + matrix * run->packed_count);
    }
    return NULL;
}

void cpu_matmul_prepare(CpuMatmul *matmul, CpuLevel level) {
    matmul->code = cpu_matmul_code_for(level);
    matmul->epilogue_row = cpu_epilogue_row_for(level);
    matmul->epilogue_rows = cpu_epilogue_rows_for(level);
    /* Columns that are not adjacent must be gathered. Adjacent ones are read in place: within 5 %
     * of packed ones from 64 × 64 × 3136 to 2048 × 512 × 49, where packing first costs up to 40
     * %. */
    matmul->b_pack_first =
        !matmul->b_packed && !matmul->narrow && matmul->depth > 0 && matmul->b_column != 1;
    if (!matmul->b_pack_first) return;
    /* from here on, B's batch strides count packed matrices; B itself is compact */
    const int64_t plain = matmul->depth * matmul->columns;
    const int64_t packed = cpu_matmul_packed_count(matmul->depth, matmul->columns);
    int64_t matrices = 1;
    for (uint32_t i = 0; i < matmul->batch.rank; i++) {
        if (!matmul->b_batch[i]) continue;
        matrices *= matmul->batch.dims[i];
        matmul->b_batch[i] = matmul->b_batch[i] / plain * packed;
    }
    matmul->b_matrix_count = matrices;
}

int64_t cpu_matmul_scratch_count(const CpuMatmul *matmul) {
    if (!matmul->b_pack_first) return 0;
    return matmul->b_matrix_count * cpu_matmul_packed_count(matmul->depth, matmul->columns);
}

enum {
    SHARED_ROWS_BYTES = 512 << 10,
    FAR_ROWS_BYTES = 1 << 20, /* of A: a second level cache */
};

bool cpu_matmul_shares_rows(uint32_t threads, int64_t rows, int64_t columns, int64_t depth) {
    return threads > 1 && rows >= columns &&
           (uint64_t)(columns * depth) * sizeof(float) <= SHARED_ROWS_BYTES;
}

/* True if some rows of A stay in a core's cache for all panels, and all rows would not for one. The
 * panels, which are fetched ahead, then come from farther away than A does (4096 × 256 × 1024: 0.7
 * of the time beside neighbours that use the memory). */
static bool takes_rows_first(const Run *run, uint32_t threads) {
    const CpuMatmul *matmul = run->matmul;
    if (!run->packed) return false;
    if ((uint64_t)(matmul->rows * matmul->depth) * sizeof(float) > FAR_ROWS_BYTES) return true;
    return cpu_matmul_shares_rows(threads, matmul->rows, matmul->columns, matmul->depth);
}

/* About 20 µs of work: 2 million multiply-adds, or 256 KiB of B read once. */
static uint64_t units_per_part(int64_t rows, int64_t depth) {
    const int64_t cost = (rows + 32) * CPU_MATMUL_PANEL * depth + 1;
    return (uint64_t)(2000000 / cost) + 1;
}

enum {
    CUT_ROWS = 6,        /* rows that an inner kernel has in registers */
    CUT_CHUNKS_MAX = 64, /* more chunks share well without a finer cut */
    CUT_GAIN = 32,       /* a finer cut has to save so many-th of the time */
};

/* Cuts the rows into as few tiles as possible, or up to twice as many if threads then share them
 * better. */
static void cut_rows(Run *run, uint32_t threads) {
    const CpuMatmul *matmul = run->matmul;
    const int64_t rows_max = matmul->code.rows;
    const int64_t least = (matmul->rows + rows_max - 1) / rows_max;
    const int64_t others = run->panels * matmul->batch_count;
    const int64_t sharers = threads > 0 ? threads : 1;
    int64_t chunk_rows = rows_max, best = INT64_MAX;
    for (int64_t chunks = least; chunks <= 2 * least && chunks <= CUT_CHUNKS_MAX; chunks++) {
        const int64_t even = (matmul->rows + chunks - 1) / chunks;
        const int64_t rows = (even + CUT_ROWS - 1) / CUT_ROWS * CUT_ROWS;
        /* rows of the thread that gets the most */
        const int64_t units = (matmul->rows + rows - 1) / rows * others;
        const int64_t most = (units + sharers - 1) / sharers * rows;
        if (rows <= rows_max && most < best - best / CUT_GAIN) best = most, chunk_rows = rows;
    }
    run->chunk_rows = chunk_rows;
    run->chunks = (matmul->rows + chunk_rows - 1) / chunk_rows;
}

Error *cpu_matmul_run(CpuDevice *device, const CpuMatmul *matmul, const CpuMatmulBuffers *buffers,
    const Launch *launch) {
    if (matmul->rows == 0 || matmul->columns == 0 || matmul->batch_count == 0) return NULL;
    const int64_t panels = panel_count(matmul->columns);
    Run run = {
        .matmul = matmul,
        .buffers = *buffers,
        .packed = matmul->b_packed || matmul->b_pack_first,
        .panels = panels,
        .packed_count = cpu_matmul_packed_count(matmul->depth, matmul->columns),
    };
    static const float nothing = 0; /* stands for matrices of depth 0, which have no address */
    if (matmul->depth == 0) run.buffers.a = run.buffers.b = &nothing;
    if (matmul->b_pack_first) {
        PackRun pack = {matmul, buffers->b, buffers->scratch, panels, run.packed_count};
        TRY(cpu_for_each(device, launch->threads, (uint64_t)(matmul->b_matrix_count * panels),
            units_per_part(0, matmul->depth), pack_units, &pack));
        run.buffers.b = buffers->scratch;
    }
    cut_rows(&run, launch->threads);
    run.rows_first = takes_rows_first(&run, launch->threads);
    run.one_row = run.packed && matmul->rows == 1;
    if (run.one_row)
        run.sweep = cpu_sweep_begin(
            run.buffers.b, (uint64_t)(run.packed_count * matmul->batch_count) * sizeof(float));
    if (is_scanned(&run, launch)) {
        return cpu_scan_run(run.buffers.b, (panels + 1) / 2, scan_part, &run);
    }
    const int64_t rows = matmul->rows < run.chunk_rows ? matmul->rows : run.chunk_rows;
    return (run.one_row ? cpu_for_each_share : cpu_for_each)(device, launch->threads,
        (uint64_t)(matmul->batch_count * panels * run.chunks), units_per_part(rows, matmul->depth),
        run_units, &run);
}
