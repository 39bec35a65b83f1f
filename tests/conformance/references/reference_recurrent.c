/* LSTM, GRU and RNN, one element of the batch after the other in each step. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "kernels/operator/operator_lower.h"
#include "tests/conformance/references/reference.h"

enum { HIDDEN_MAX = 256, BATCH_MAX = 32 };

/* DynamicQuantizeLinear's parameters of the elements that are quantized together. */
typedef struct Bytes {
    float step, zero;
} Bytes;

typedef struct Network {
    const ReferenceCall *call;
    bool batch_first, is_lstm, is_gru;
    bool in_bytes; /* weights [directions, depth, gates * H], rows quantized */
    Bytes inputs, states;
    int64_t length, batch, input, hidden, directions, gates;
    /* how many entries of activation_alpha and _beta the activations before used */
    uint32_t alphas, betas;
} Network;

static Network network_of(const ReferenceCall *call) {
    const Shape *x = &call->inputs[0].shape, *r = &call->inputs[2].shape;
    Network network = {.call = call, .input = x->dims[2], .directions = r->dims[0]};
    network.batch_first = attributes_int(call->attributes, "layout") != 0;
    const OperatorId id = operator_lower_of(call->operator_info->id);
    network.in_bytes = id == OPERATOR_DYNAMIC_QUANTIZE_LSTM;
    network.is_lstm = id == OPERATOR_LSTM || network.in_bytes;
    network.is_gru = id == OPERATOR_GRU;
    network.length = x->dims[network.batch_first ? 1 : 0];
    network.batch = x->dims[network.batch_first ? 0 : 1];
    network.hidden = r->dims[network.in_bytes ? 1 : 2];
    network.gates = r->dims[network.in_bytes ? 2 : 1] / network.hidden;
    return network;
}

static double parameter(
    const Network *network, const char *list, uint32_t *inout_used, double otherwise) {
    uint32_t count;
    const double *values = attributes_floats(network->call->attributes, list, &count);
    return *inout_used < count ? values[(*inout_used)++] : otherwise;
}

static double apply(Network *network, const char *name, double x) {
    if (strcasecmp(name, "Sigmoid") == 0) return 1 / (1 + exp(-x));
    if (strcasecmp(name, "Tanh") == 0) return tanh(x);
    if (strcasecmp(name, "Relu") == 0) return x > 0 ? x : 0;
    if (strcasecmp(name, "Softplus") == 0) return log1p(exp(x));
    if (strcasecmp(name, "Softsign") == 0) return x / (1 + fabs(x));
    if (strcasecmp(name, "LeakyRelu") == 0) {
        double alpha = parameter(network, "activation_alpha", &network->alphas, 0.01);
        return x >= 0 ? x : alpha * x;
    }
    if (strcasecmp(name, "Elu") == 0) {
        double alpha = parameter(network, "activation_alpha", &network->alphas, 1);
        return x >= 0 ? x : alpha * (exp(x) - 1);
    }
    if (strcasecmp(name, "ThresholdedRelu") == 0)
        return x >= parameter(network, "activation_alpha", &network->alphas, 1) ? x : 0;
    bool hard = strcasecmp(name, "HardSigmoid") == 0;
    double alpha = parameter(network, "activation_alpha", &network->alphas, hard ? 0.2 : 1);
    double beta = parameter(network, "activation_beta", &network->betas,
        strcasecmp(name, "Affine") == 0 ? 0
        : hard                          ? 0.5
                                        : 1);
    if (hard) return fmax(0, fmin(1, alpha * x + beta));
    if (strcasecmp(name, "Affine") == 0) return alpha * x + beta;
    return alpha * tanh(beta * x);
}

static uint32_t activation_count(const Network *network) {
    return network->is_lstm ? 3 : network->is_gru ? 2 : 1;
}

/* Activation number `index` of a direction; those before it take their parameters first. */
static double activate(Network *network, int64_t direction, uint32_t index, double x) {
    static const char *const defaults[3][3] = {
        {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    const Attributes *attributes = network->call->attributes;
    uint32_t count = activation_count(network);
    network->alphas = network->betas = 0;
    if (!attributes_has(attributes, "activations"))
        return apply(network, defaults[count - 1][index], x);
    uint32_t wanted = (uint32_t)direction * count + index;
    for (uint32_t i = 0; i < wanted; i++)
        (void)apply(network, attributes_string_at(attributes, "activations", i), 0);
    return apply(network, attributes_string_at(attributes, "activations", wanted), x);
}

static double limited(const Network *network, double x) {
    const Attributes *attributes = network->call->attributes;
    double clip = attributes_has(attributes, "clip") ? attributes_float(attributes, "clip") : 0;
    return clip > 0 ? fmax(-clip, fmin(clip, x)) : x;
}

/* ---- products ---- */

static void widen_range(const double *values, int64_t count, float *inout_low, float *inout_high) {
    for (int64_t i = 0; i < count; i++) {
        *inout_low = fminf(*inout_low, (float)values[i]);
        *inout_high = fmaxf(*inout_high, (float)values[i]);
    }
}

static Bytes bytes_of(float low, float high) {
    const float step = high > low ? (high - low) / 255.0f : 1.0f;
    return (Bytes){step, fmaxf(0, fminf(255, rintf(-low / step)))};
}

/* The number that a byte stands for. */
static double rounded(const Bytes *bytes, double value) {
    const float byte = fmaxf(0, fminf(255, rintf((float)value / bytes->step) + bytes->zero));
    return (double)(byte - bytes->zero) * (double)bytes->step;
}

/* Element i of a gate's row of W (input 1) or R (input 2). */
static double weight(
    const Network *network, uint32_t input, int64_t direction, int64_t row, int64_t i) {
    const ReferenceTensor *w = &network->call->inputs[input];
    const int64_t rows = network->gates * network->hidden;
    const int64_t depth = input == 1 ? network->input : network->hidden;
    if (!network->in_bytes) return w->values[(direction * rows + row) * depth + i];
    const ReferenceTensor *scale = &network->call->inputs[6 + 2 * input];
    const ReferenceTensor *zero = &network->call->inputs[7 + 2 * input];
    const int64_t per = scale->count / network->directions; /* 1, or one for each column */
    const int64_t at = per == 0 ? 0 : per == 1 ? direction : direction * per + row;
    const double point = zero->present ? zero->values[zero->count == 1 ? 0 : at] : 0;
    return (w->values[(direction * depth + i) * rows + row] - point) *
           scale->values[scale->count == 1 ? 0 : at];
}

static double bias(const Network *network, int64_t direction, int64_t row) {
    const ReferenceTensor *b = &network->call->inputs[3];
    return b->present ? b->values[direction * 2 * network->gates * network->hidden + row] : 0;
}

/* W x of a gate's row, with its bias. */
static double of_input(const Network *network, int64_t direction, int64_t row, const double *x) {
    double sum = bias(network, direction, row);
    for (int64_t i = 0; i < network->input; i++)
        sum += weight(network, 1, direction, row, i) *
               (network->in_bytes ? rounded(&network->inputs, x[i]) : x[i]);
    return sum;
}

/* R h of a gate's row, with its bias. */
static double of_state(const Network *network, int64_t direction, int64_t row, const double *h) {
    double sum = bias(network, direction, network->gates * network->hidden + row);
    for (int64_t i = 0; i < network->hidden; i++)
        sum += weight(network, 2, direction, row, i) *
               (network->in_bytes ? rounded(&network->states, h[i]) : h[i]);
    return sum;
}

/* ---- steps ---- */

static void step_rnn(Network *network, int64_t d, const double *x, double *h) {
    double next[HIDDEN_MAX];
    for (int64_t i = 0; i < network->hidden; i++)
        next[i] = activate(network, d, 0,
            limited(network, of_input(network, d, i, x) + of_state(network, d, i, h)));
    memcpy(h, next, (size_t)network->hidden * sizeof(double));
}

static void step_gru(Network *network, int64_t d, const double *x, double *h) {
    int64_t hidden = network->hidden;
    bool linear = attributes_int(network->call->attributes, "linear_before_reset") != 0;
    double z[HIDDEN_MAX], r[HIDDEN_MAX], reset[HIDDEN_MAX], next[HIDDEN_MAX];
    for (int64_t i = 0; i < hidden; i++) {
        int64_t row = hidden + i;
        z[i] = activate(network, d, 0,
            limited(network, of_input(network, d, i, x) + of_state(network, d, i, h)));
        r[i] = activate(network, d, 0,
            limited(network, of_input(network, d, row, x) + of_state(network, d, row, h)));
        reset[i] = r[i] * h[i];
    }
    for (int64_t i = 0; i < hidden; i++) {
        int64_t row = 2 * hidden + i;
        double state =
            linear ? r[i] * of_state(network, d, row, h) : of_state(network, d, row, reset);
        double made =
            activate(network, d, 1, limited(network, of_input(network, d, row, x) + state));
        next[i] = (1 - z[i]) * made + z[i] * h[i];
    }
    memcpy(h, next, (size_t)hidden * sizeof(double));
}

static double gate(
    const Network *network, int64_t d, int64_t row, const double *x, const double *h) {
    return of_input(network, d, row, x) + of_state(network, d, row, h);
}

static void step_lstm(Network *network, int64_t d, const double *x, double *h, double *c) {
    int64_t hidden = network->hidden;
    const ReferenceTensor *p = &network->call->inputs[7];
    const double *peep = p->present ? p->values + d * 3 * hidden : NULL;
    bool coupled = attributes_int(network->call->attributes, "input_forget") != 0;
    double next[HIDDEN_MAX];
    for (int64_t i = 0; i < hidden; i++) {
        double in = gate(network, d, i, x, h) + (peep ? peep[i] * c[i] : 0);
        double out = gate(network, d, hidden + i, x, h);
        double forget =
            gate(network, d, 2 * hidden + i, x, h) + (peep ? peep[2 * hidden + i] * c[i] : 0);
        double cell = gate(network, d, 3 * hidden + i, x, h);
        in = activate(network, d, 0, limited(network, in));
        forget = coupled ? 1 - in : activate(network, d, 0, limited(network, forget));
        c[i] = forget * c[i] + in * activate(network, d, 1, limited(network, cell));
        out += peep ? peep[hidden + i] * c[i] : 0;
        out = activate(network, d, 0, limited(network, out));
        next[i] = out * activate(network, d, 2, c[i]);
    }
    memcpy(h, next, (size_t)hidden * sizeof(double));
}

static void store(ReferenceTensor *to, int64_t at, const double *from, int64_t count) {
    if (to->present) memcpy(to->values + at, from, (size_t)count * sizeof(double));
}

/* The states of a direction, of each element of the batch. */
typedef struct States {
    double h[BATCH_MAX][HIDDEN_MAX], c[BATCH_MAX][HIDDEN_MAX];
} States;

static int64_t state_row(const Network *network, int64_t d, int64_t n) {
    return network->batch_first ? n * network->directions + d : d * network->batch + n;
}

static int64_t length_of(const Network *network, int64_t n) {
    const ReferenceTensor *lengths = &network->call->inputs[4];
    return lengths->present ? (int64_t)lengths->values[n] : network->length;
}

static void load_states(const Network *network, int64_t d, States *out) {
    const ReferenceTensor *h = &network->call->inputs[5], *c = &network->call->inputs[6];
    for (int64_t n = 0; n < network->batch; n++)
        for (int64_t i = 0; i < network->hidden; i++) {
            const int64_t at = state_row(network, d, n) * network->hidden + i;
            out->h[n][i] = h->present ? h->values[at] : 0;
            out->c[n][i] = c->present ? c->values[at] : 0;
        }
}

static void run_element(
    Network *network, ReferenceCall *call, int64_t d, int64_t n, int64_t s, States *states) {
    const int64_t hidden = network->hidden, steps = length_of(network, n);
    const char *way = attributes_text(call->attributes, "direction");
    const bool backward = strcmp(way, "reverse") == 0 || d == 1;
    if (s >= steps) return;
    int64_t t = backward ? steps - 1 - s : s;
    int64_t row = network->batch_first ? n * network->length + t : t * network->batch + n;
    const double *x = call->inputs[0].values + row * network->input;
    if (network->is_lstm)
        step_lstm(network, d, x, states->h[n], states->c[n]);
    else if (network->is_gru)
        step_gru(network, d, x, states->h[n]);
    else
        step_rnn(network, d, x, states->h[n]);
    int64_t at = network->batch_first ? (n * network->length + t) * network->directions + d
                                      : (t * network->directions + d) * network->batch + n;
    store(&call->outputs[0], at * hidden, states->h[n], hidden);
}

static void run_direction(Network *network, ReferenceCall *call, int64_t d) {
    static States states;
    load_states(network, d, &states);
    for (int64_t s = 0; s < network->length; s++) {
        float low = 0, high = 0;
        for (int64_t n = 0; n < network->batch; n++)
            widen_range(states.h[n], network->hidden, &low, &high);
        network->states = bytes_of(low, high);
        for (int64_t n = 0; n < network->batch; n++) run_element(network, call, d, n, s, &states);
    }
    for (int64_t n = 0; n < network->batch; n++) {
        const int64_t last = state_row(network, d, n) * network->hidden;
        if (call->output_count > 1) store(&call->outputs[1], last, states.h[n], network->hidden);
        if (call->output_count > 2) store(&call->outputs[2], last, states.c[n], network->hidden);
    }
}

void reference_recurrent(ReferenceCall *call) {
    Network network = network_of(call);
    float low = 0, high = 0;
    widen_range(call->inputs[0].values, call->inputs[0].count, &low, &high);
    network.inputs = bytes_of(low, high);
    for (int64_t d = 0; d < network.directions; d++) run_direction(&network, call, d);
}
