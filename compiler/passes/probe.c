#include "compiler/passes/probe.h"

#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/probe_groups.h"

/* The first size of each world. Set 0 is below the length of most position tables, set 1 is large
 * enough for deep stacks of windows, set 2 is below short tables, too. */
static const int64_t first_sizes[PROBE_SETS][PROBE_WORLDS] = {
    {23, 43, 61, 96, 26}, {1009, 10007, 499, 1024, 1018}, {5, 7, 3, 8, 6}};

enum { CONTAINERS_MAX = 16 }; /* lists and optionals in each other that are followed */

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus) {
    uint64_t result = 1;
    for (base %= modulus; exponent > 0; exponent >>= 1, base = base * base % modulus)
        if (exponent & 1) result = result * base % modulus;
    return result;
}

/* The test of Miller and Rabin. For numbers below 3,215,031,751 these four bases decide exactly.
 * Trial division would cost more with every symbol. */
static bool is_prime(int64_t candidate) {
    static const uint64_t bases[] = {2, 3, 5, 7};
    const uint64_t n = (uint64_t)candidate;
    if (candidate < 2) return false;
    for (uint32_t i = 0; i < 4; i++)
        if (n % bases[i] == 0) return n == bases[i];
    const int twos = __builtin_ctzll(n - 1);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t x = power(bases[i], (n - 1) >> twos, n);
        bool passes = x == 1;
        for (int t = 0; !passes && t < twos; t++, x = x * x % n) passes = x == n - 1;
        if (!passes) return false;
    }
    return true;
}

static int64_t next_prime(int64_t above) {
    int64_t candidate = above + 1;
    while (!is_prime(candidate)) candidate++;
    return candidate;
}

/* The size of the next symbol in a world. The first three worlds skip different numbers of primes,
 * so that sums of sizes do not agree by accident. Windows and strides are no polynomials, and odd
 * sizes may behave differently from even ones: the fourth world has multiples of a power of two,
 * the last one has twice a prime. */
static int64_t next_size(uint32_t set, uint32_t world, int64_t size) {
    enum { MULTIPLES = 3 };
    static const int64_t steps[PROBE_SETS] = {32, 32, 8};
    if (world == MULTIPLES) return size + steps[set];
    if (world > MULTIPLES) return 2 * next_prime(size / 2);
    for (uint32_t i = 0; i <= world; i++) size = next_prime(size);
    return size;
}

static uint32_t *table_find(const ProbeContext *context, const int64_t sizes[PROBE_WORLDS]) {
    uint64_t hash = 0;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++)
        hash = (hash ^ (uint64_t)sizes[w]) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (hash >> 32) & (context->table_size - 1);
    while (context->table[at] &&
           memcmp(context->symbols[context->table[at] - 1].sizes, sizes, sizeof(ProbeSymbol)) != 0)
        at = (at + 1) & (context->table_size - 1);
    return &context->table[at];
}

static Error *symbol_add(ProbeContext *context, const int64_t sizes[PROBE_WORLDS]) {
    void *array = context->symbols;
    TRY(memory_grow(&array, context->symbol_count, &context->symbol_capacity, sizeof(ProbeSymbol)));
    context->symbols = array;
    if ((context->symbol_count + 1) * 2 > context->table_size) {
        size_t size = context->table_size ? context->table_size * 2 : 64;
        TRY(memory_alloc(size, sizeof(uint32_t), &array));
        memory_free(context->table);
        context->table = array;
        context->table_size = size;
        for (size_t i = 0; i < context->symbol_count; i++)
            *table_find(context, context->symbols[i].sizes) = (uint32_t)i + 1;
    }
    memcpy(context->symbols[context->symbol_count].sizes, sizes, sizeof(ProbeSymbol));
    *table_find(context, sizes) = (uint32_t)++context->symbol_count;
    return NULL;
}

/* Chooses sizes for new symbols of the module. */
static Error *symbols_fill(ProbeContext *context) {
    while (context->symbol_count < context->module->symbol_count) {
        ProbeSymbol symbol;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            symbol.sizes[w] = context->next_size[w];
            context->next_size[w] = next_size(context->set, w, symbol.sizes[w]);
        }
        TRY(symbol_add(context, symbol.sizes));
    }
    return NULL;
}

Error *probe_context_init(IrModule *module, Device *portable, uint32_t set, ProbeContext *out) {
    ProbeContext context = {.module = module,
        .portable = portable,
        .variable_count = module->variable_count,
        .set = set};
    memcpy(context.next_size, first_sizes[set], sizeof first_sizes[set]);
    void *table;
    TRY(ir_side_table(module, sizeof(Probe), &table));
    context.probes = table;
    Error *error = ir_side_table(module, sizeof(uint32_t *), &table);
    if (!error) {
        context.fresh = table;
        error = ir_side_table(module, 1, &table);
    }
    if (!error) {
        context.widened = table;
        error = symbols_fill(&context);
    }
    if (error)
        probe_context_deinit(&context);
    else
        *out = context;
    return error;
}

void probe_context_deinit(ProbeContext *context) {
    for (uint32_t i = 0; context->probes && i < context->variable_count; i++)
        probe_clear(&context->probes[i]);
    memory_free(context->probes);
    memory_free(context->fresh);
    memory_free(context->widened);
    memory_free(context->symbols);
    memory_free(context->table);
    memory_free(context->scratch);
    *context = (ProbeContext){0};
}

Probe *probe_of(const ProbeContext *context, const IrVariable *variable) {
    return &context->probes[variable->id];
}

const Probe *probe_of_operand(
    const ProbeContext *context, const IrBinding *binding, uint32_t index) {
    const IrVariable *operand = ir_operand(binding, index);
    return operand ? probe_of(context, operand) : NULL;
}

void probe_clear(Probe *probe) {
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) tensor_release(probe->values[w]);
    *probe = (Probe){0};
}

void probe_set(Probe *to, const Probe *from) {
    if (to == from) return;
    Probe copy = *from;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++)
        if (copy.values[w]) tensor_retain(copy.values[w]);
    probe_clear(to);
    *to = copy;
}

static bool tensors_equal(const Tensor *a, const Tensor *b) {
    if (a == b) return true;
    if (!a || !b || a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape)) return false;
    size_t bytes = (size_t)tensor_bytes(a);
    if (bytes != tensor_bytes(b)) return false;
    return bytes == 0 || memcmp(tensor_data(a), tensor_data(b), bytes) == 0;
}

static bool values_equal(const Probe *a, const Probe *b) {
    if (a->has_value != b->has_value) return false;
    for (uint32_t w = 0; a->has_value && w < PROBE_WORLDS; w++) {
        if (a->scalars[w] != b->scalars[w]) return false;
        if (!tensors_equal(a->values[w], b->values[w])) return false;
    }
    return true;
}

static bool elements_equal(const IrType *a, const IrType *b) {
    return a == b || (a && b && ir_type_equal(a, b));
}

bool probe_equal(const Probe *a, const Probe *b) {
    if (a->state != b->state || a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    if (a->shape_tainted != b->shape_tainted || a->value_tainted != b->value_tainted ||
        a->shape_limited != b->shape_limited)
        return false;
    return memcmp(a->dims, b->dims, sizeof a->dims) == 0 && values_equal(a, b) &&
           elements_equal(a->element, b->element);
}

bool probe_is_constant(const Probe *probe) {
    if (probe->state != PROBE_KNOWN || !probe->has_value) return false;
    for (uint32_t w = 1; w < PROBE_WORLDS; w++) {
        if (probe->scalars[w] != probe->scalars[0]) return false;
        if (!tensors_equal(probe->values[w], probe->values[0])) return false;
    }
    return true;
}

Error *probe_set_fresh(
    ProbeContext *context, const IrVariable *variable, Probe *inout_probe, uint32_t dim) {
    uint32_t **fresh = &context->fresh[variable->id];
    if (!*fresh) {
        void *block;
        TRY(arena_alloc(&context->module->arena, SHAPE_RANK_MAX, sizeof(uint32_t), &block));
        *fresh = block;
    }
    if ((*fresh)[dim] == 0) {
        uint32_t symbol;
        TRY(symbols_fill(context));
        TRY(ir_module_symbol(context->module, "", &symbol));
        TRY(symbols_fill(context));
        (*fresh)[dim] = symbol + 1;
    }
    const ProbeSymbol *symbol = &context->symbols[(*fresh)[dim] - 1];
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) inout_probe->dims[w][dim] = symbol->sizes[w];
    return NULL;
}

Error *probe_from_type(
    ProbeContext *context, const IrVariable *variable, const IrType *type, Probe *out) {
    Probe probe = {.state = PROBE_KNOWN, .kind = type->kind, .element = type->element};
    if (type->kind == IR_TYPE_TENSOR) {
        probe.dtype = type->dtype;
        if (!type->rank_known || type->dtype == DTYPE_NONE) probe.state = PROBE_TOP;
        probe.rank = probe.state == PROBE_KNOWN ? type->rank : 0;
        for (uint32_t i = 0; i < probe.rank; i++) {
            int64_t dim = type->dims[i];
            if (dim == IR_DIM_UNKNOWN) TRY(probe_set_fresh(context, variable, &probe, i));
            if (dim == IR_DIM_UNKNOWN) continue;
            for (uint32_t w = 0; w < PROBE_WORLDS; w++)
                probe.dims[w][i] =
                    dim >= 0 ? dim : context->symbols[ir_dim_get_symbol(dim)].sizes[w];
        }
    } else if (type->kind == IR_TYPE_UNKNOWN) {
        probe.state = PROBE_TOP;
    }
    probe_clear(out);
    *out = probe;
    return NULL;
}

static void drop_value(Probe *probe) {
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        tensor_release(probe->values[w]);
        probe->values[w] = NULL;
        probe->scalars[w] = 0;
    }
    probe->has_value = false;
    probe->value_tainted = false;
}

static void set_top(Probe *probe, const Probe *other) {
    bool same_kind = probe->kind == other->kind;
    Probe top = {.state = PROBE_TOP, .kind = same_kind ? probe->kind : IR_TYPE_UNKNOWN};
    if (same_kind && probe->dtype == other->dtype) top.dtype = probe->dtype;
    probe_clear(probe);
    *probe = top;
}

static Error *join_dims(ProbeContext *context, ProbeGroups *groups, bool sticky,
    const IrVariable *variable, Probe *probe, const Probe *other) {
    for (uint32_t i = 0; i < probe->rank; i++) {
        ProbeGroup wanted = {0};
        bool same = true;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            wanted.before.sizes[w] = probe->dims[w][i];
            wanted.other.sizes[w] = other->dims[w][i];
            same = same && probe->dims[w][i] == other->dims[w][i];
        }
        bool widened = sticky && (context->widened[variable->id] >> i & 1);
        if (same && !widened) continue;
        ProbeGroup *group;
        bool found;
        TRY(probe_groups_find(groups, &wanted, &group, &found));
        if (!found) {
            /* the symbol stays with its first pair; each further pair gets a new symbol */
            if (!widened || probe_groups_has_kept(groups, &wanted.before))
                TRY(probe_set_fresh(context, variable, probe, i));
            for (uint32_t w = 0; w < PROBE_WORLDS; w++) group->after.sizes[w] = probe->dims[w][i];
        }
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) probe->dims[w][i] = group->after.sizes[w];
        if (sticky) context->widened[variable->id] |= (uint8_t)(1u << i);
    }
    return NULL;
}

/* The element type of an optional. A plain value counts as a filled optional. */
static Error *optional_element(ProbeContext *context, const Probe *probe, const IrType **out) {
    IrType type;
    *out = probe->element;
    if (probe->kind == IR_TYPE_OPTIONAL) return NULL;
    void *copy;
    TRY(probe_to_type(context, probe, &type));
    TRY(arena_copy(&context->module->arena, &type, 1, sizeof type, &copy));
    *out = copy;
    return NULL;
}

/* Joins an optional and a value of its element's type. */
static Error *join_optional(ProbeContext *context, Probe *probe, const Probe *other) {
    Probe joined = {.state = PROBE_KNOWN, .kind = IR_TYPE_OPTIONAL};
    const IrType *left, *right;
    TRY(optional_element(context, probe, &left));
    TRY(optional_element(context, other, &right));
    TRY(probe_join_elements(context->module, left, right, &joined.element));
    probe_set(probe, &joined);
    return NULL;
}

Error *probe_join(ProbeContext *context, ProbeGroups *groups, bool sticky,
    const IrVariable *variable, Probe *inout_probe, const Probe *other) {
    Probe *probe = inout_probe;
    if (other->state == PROBE_BOTTOM) return NULL;
    if (probe->state == PROBE_BOTTOM) {
        probe_set(probe, other);
        return NULL;
    }
    if (probe->state == PROBE_KNOWN && other->state == PROBE_KNOWN && probe->kind != other->kind &&
        (probe->kind == IR_TYPE_OPTIONAL || other->kind == IR_TYPE_OPTIONAL))
        return join_optional(context, probe, other);
    if (probe->state == PROBE_TOP || other->state == PROBE_TOP || probe->kind != other->kind ||
        probe->dtype != other->dtype || probe->rank != other->rank) {
        set_top(probe, other);
        return NULL;
    }
    bool same_value = values_equal(probe, other);
    bool tainted = probe->value_tainted || other->value_tainted;
    probe->shape_limited = (probe->shape_limited || !probe->shape_tainted) &&
                           (other->shape_limited || !other->shape_tainted);
    probe->shape_tainted = probe->shape_tainted || other->shape_tainted;
    probe->shape_limited = probe->shape_limited && probe->shape_tainted;
    TRY(join_dims(context, groups, sticky, variable, probe, other));
    if (same_value)
        probe->value_tainted = tainted;
    else
        drop_value(probe);
    return probe_join_elements(context->module, probe->element, other->element, &probe->element);
}

/* Joins two types that are not containers of one kind. */
static IrType join_leaves(const IrType *a, const IrType *b) {
    IrType joined = {.kind = a->kind == b->kind ? a->kind : IR_TYPE_UNKNOWN};
    if (joined.kind != IR_TYPE_TENSOR) return joined;
    joined.dtype = a->dtype == b->dtype ? a->dtype : DTYPE_NONE;
    joined.rank_known = a->rank_known && b->rank_known && a->rank == b->rank;
    joined.rank = joined.rank_known ? a->rank : 0;
    for (uint32_t i = 0; i < joined.rank; i++)
        joined.dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
    return joined;
}

Error *probe_join_elements(IrModule *module, const IrType *a, const IrType *b, const IrType **out) {
    IrTypeKind around[CONTAINERS_MAX];
    uint32_t depth = 0;
    while (a && b && !ir_type_equal(a, b) && a->kind == b->kind && ir_type_is_container(a) &&
           depth < CONTAINERS_MAX) {
        around[depth++] = a->kind;
        a = a->element;
        b = b->element;
    }
    if (!a || !b || ir_type_equal(a, b)) {
        *out = a ? a : b;
    } else {
        bool too_deep = a->kind == b->kind && ir_type_is_container(a);
        IrType joined = too_deep ? (IrType){0} : join_leaves(a, b);
        void *copy;
        TRY(arena_copy(&module->arena, &joined, 1, sizeof joined, &copy));
        *out = copy;
    }
    while (depth-- > 0) {
        IrType container;
        void *copy;
        TRY(ir_type_container(module, around[depth], *out, &container));
        TRY(arena_copy(&module->arena, &container, 1, sizeof container, &copy));
        *out = copy;
    }
    return NULL;
}

bool probe_dim_is_fixed(const Probe *probe, uint32_t dim) {
    for (uint32_t w = 1; w < PROBE_WORLDS; w++)
        if (probe->dims[w][dim] != probe->dims[0][dim]) return false;
    return true;
}

bool probe_sizes_are_sum(const ProbeContext *context, const int64_t sizes[PROBE_WORLDS]) {
    /* many ranges of many symbols would otherwise take time by the square of their number */
    enum { ADDENDS_MAX = 4096 };
    if (context->symbol_count > 0 && *table_find(context, sizes) > 0) return true;
    for (size_t i = 0; i < context->symbol_count && i < ADDENDS_MAX; i++) {
        int64_t rest[PROBE_WORLDS];
        bool fixed = true;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            rest[w] = sizes[w] - context->symbols[i].sizes[w];
            fixed = fixed && rest[w] == rest[0];
        }
        if (fixed ? rest[0] >= 0 : *table_find(context, rest) > 0) return true;
    }
    return false;
}

bool probe_is_sum(const ProbeContext *context, const Probe *probe, uint32_t dim) {
    int64_t sizes[PROBE_WORLDS];
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) sizes[w] = probe->dims[w][dim];
    return probe_sizes_are_sum(context, sizes);
}

static Error *dim_to_type(ProbeContext *context, const Probe *probe, uint32_t dim, int64_t *out) {
    int64_t sizes[PROBE_WORLDS];
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) sizes[w] = probe->dims[w][dim];
    *out = sizes[0];
    if (probe_dim_is_fixed(probe, dim)) return NULL;
    uint32_t found = context->table_size ? *table_find(context, sizes) : 0;
    if (!found) {
        uint32_t symbol;
        TRY(symbols_fill(context)); /* symbols that another context has made */
        TRY(ir_module_symbol(context->module, "", &symbol));
        TRY(symbol_add(context, sizes));
        found = symbol + 1;
    }
    *out = ir_dim_symbol(found - 1);
    return NULL;
}

Error *probe_to_type(ProbeContext *context, const Probe *probe, IrType *out) {
    IrType type = {.kind = probe->kind, .dtype = probe->dtype, .element = probe->element};
    if (probe->kind == IR_TYPE_TENSOR && probe->state == PROBE_KNOWN) {
        type.rank_known = true;
        type.rank = probe->rank;
        for (uint32_t i = 0; i < probe->rank; i++)
            TRY(dim_to_type(context, probe, i, &type.dims[i]));
    }
    *out = type;
    return NULL;
}
