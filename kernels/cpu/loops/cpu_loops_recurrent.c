/* A step of an LSTM's units in one pass over memory. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_hyperbolic.h"

static void lstm(const CpuLstmRow *row) {
    const float *gates = row->gates, *products = row->products;
    const int64_t output = row->gate_step, forget = 2 * row->gate_step, update = 3 * row->gate_step;
    const int64_t count = row->count;
    float *c = row->c, *h = row->h;
    /* The last tanh has a loop of its own. In one loop, instructions that wait for this tanh would
     * fill the processor's window, and the next units would not begin. */
    CPU_EACH(i, count) {
        float taken = scalar_sigmoid_f32(gates[i] + products[i]);
        float kept = scalar_sigmoid_f32(gates[forget + i] + products[forget + i]);
        float next = scalar_tanh_f32(gates[update + i] + products[update + i]);
        h[i] = scalar_sigmoid_f32(gates[output + i] + products[output + i]);
        c[i] = scalar_canonical_f32(kept * c[i] + taken * next);
    }
    CPU_EACH(i, count) h[i] = h[i] * scalar_tanh_f32(c[i]);
}

CpuLstmLoop *CPU_LOOPS_NAME(cpu_loops_lstm)(void) { return lstm; }
