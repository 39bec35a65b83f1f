#include "compiler/lower/slot_settle.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/lower/slot_demand.h"

enum { NEEDS_HOST = 1, NEEDS_DEVICE = 2, WANTED_NOTHING = 255 };

/* A binding, or a whole function, with its sites: the places where a value must be in some slot.
 * The sites of a binding are its operands, its blocks' results and, for a call, its results. The
 * sites of a function are its body's results. */
typedef struct Item {
    const IrBinding *binding; /* NULL: the function */
    const IrFunction *function;
    size_t first_site;
} Item;

/* Lists of items by owner, one list behind the other. */
typedef struct Lists {
    size_t *first;
    uint32_t *items;
} Lists;

typedef struct Settling {
    SlotChoice *choice;
    Item *items; /* functions first, by index */
    uint32_t item_count;
    uint32_t *item_of; /* by variable id: the binding that makes it, or its function's */
    uint8_t *wanted;   /* by site: the slot that it wanted when last looked at */
    uint32_t *uses[2]; /* by variable id: sites that want it in that slot */
    /* by function's result: results of its calls that are wanted in that slot */
    uint32_t *calls[2];
    Lists users;     /* by variable id */
    Lists callers;   /* by function */
    uint32_t *queue; /* a ring with room for all items */
    uint32_t queue_first, queue_count;
    bool *queued; /* by item */
} Settling;

static uint8_t slot_of(const SlotChoice *choice, const IrVariable *variable) {
    return variable->constant ? 0 : choice->of[variable->id];
}

static bool results_are(const IrBinding *binding, const IrBlock *block) {
    if (!binding || binding->result_count != block->result_count) return false;
    for (uint32_t i = 0; i < block->result_count; i++)
        if (binding->results[i] != block->results[i]) return false;
    return true;
}

static void push(Settling *self, uint32_t item) {
    if (self->queued[item]) return;
    self->queued[item] = true;
    uint32_t at = self->queue_first + self->queue_count++;
    self->queue[at < self->item_count ? at : at - self->item_count] = item;
}

static void push_list(Settling *self, const Lists *lists, size_t owner) {
    for (size_t i = lists->first[owner]; i < lists->first[owner + 1]; i++)
        push(self, lists->items[i]);
}

/* Queues all items that read, make or pass on a variable that changed. */
static void touch_variable(Settling *self, const IrVariable *variable) {
    if (variable->constant) return;
    push(self, self->item_of[variable->id]);
    push_list(self, &self->users, variable->id);
    if (!variable->binding && !variable->block->parent)
        push_list(self, &self->callers, variable->block->function->index);
}

/* Moves a variable from the host to the device unless it is pinned. No other function does. */
static void variable_to_device(Settling *self, const IrVariable *variable) {
    SlotChoice *choice = self->choice;
    if (choice->of[variable->id] == 1 || choice->pinned[variable->id]) return;
    choice->of[variable->id] = 1;
    touch_variable(self, variable);
}

/* Notes that a variable depends on values that are on the device. No other function does. */
static void variable_computed(Settling *self, const IrVariable *variable) {
    if (self->choice->computed[variable->id]) return;
    self->choice->computed[variable->id] = true;
    touch_variable(self, variable);
}

static bool is_computed(const SlotChoice *choice, const IrVariable *variable) {
    return variable && !variable->constant && choice->computed[variable->id];
}

static void result_to_device(Settling *self, const IrFunction *function, uint32_t index) {
    SlotChoice *choice = self->choice;
    uint32_t at = choice->first_result[function->index] + index;
    if (choice->results[at] == 1 || choice->result_pinned[at]) return;
    choice->results[at] = 1;
    push(self, function->index);
    push_list(self, &self->callers, function->index);
}

/* Moves both to the device if one is there: in different slots they would need a copy between
 * them. */
static void unify_variables(Settling *self, const IrVariable *a, const IrVariable *b) {
    const uint8_t *of = self->choice->of;
    if (of[a->id] == 1) variable_to_device(self, b);
    if (of[b->id] == 1) variable_to_device(self, a);
}

/* The same for a variable and a function's result. */
static void unify_with_result(
    Settling *self, const IrVariable *variable, const IrFunction *function, uint32_t index) {
    const SlotChoice *choice = self->choice;
    if (choice->of[variable->id] == 1) result_to_device(self, function, index);
    if (choice->results[choice->first_result[function->index] + index] == 1)
        variable_to_device(self, variable);
}

/* Operators whose results may be large though their inputs are small. */
static bool makes_large(const IrBinding *binding) {
    static const OperatorId makers[] = {OPERATOR_RANGE, OPERATOR_CONSTANT_OF_SHAPE, OPERATOR_EXPAND,
        OPERATOR_TILE, OPERATOR_PAD, OPERATOR_ONE_HOT, OPERATOR_NON_ZERO};
    if (binding->kind != IR_OPERATOR) return false;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (binding->operator_info->id == makers[i]) return true;
    return false;
}

/* True for a value that is worth a copy to the host: control flow or shapes are made of it, and the
 * device does not use it. */
static bool stays(const SlotChoice *choice, const IrVariable *variable) {
    return choice->needs[variable->id] == NEEDS_HOST && choice->demanded[variable->id];
}

static bool operator_may_stay(const SlotChoice *choice, const IrBinding *binding) {
    bool from_host = false, inputs_small = true, inputs_on_host = true, computed = false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = binding->operands[i];
        if (!input || input->constant) continue;
        if (choice->of[input->id] == 0) {
            from_host = true;
            continue;
        }
        inputs_on_host = false;
        bool reads_value = operator_reads_value(binding->operator_info, i);
        if (!reads_value && !slot_choice_is_small(&input->type)) inputs_small = false;
    }
    bool integers = true, demanded = false, on_device = false;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        const IrVariable *result = binding->results[i];
        if (!choice->eligible[result->id]) return false;
        if (makes_large(binding) && !slot_choice_is_small(&result->type)) return false;
        if (dtype_is_float(result->type.dtype)) integers = false;
        if (choice->needs[result->id] & NEEDS_DEVICE) on_device = true;
        if (stays(choice, result)) demanded = true;
        if (choice->computed[result->id]) computed = true;
    }
    if (inputs_on_host && from_host && integers && !computed) return true;
    return demanded && !on_device && inputs_small;
}

/* All results of a kernel are in one slot: if one is on the device, so are the others. */
static void settle_operator(Settling *self, const IrBinding *binding) {
    const SlotChoice *choice = self->choice;
    bool on_host = true, computed = false;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (!operator_reads_value(binding->operator_info, i) &&
            is_computed(choice, binding->operands[i]))
            computed = true;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        if (computed) variable_computed(self, binding->results[i]);
        if (choice->of[binding->results[i]->id] == 1) on_host = false;
    }
    if (on_host && operator_may_stay(choice, binding)) return;
    for (uint32_t i = 0; i < binding->result_count; i++)
        variable_to_device(self, binding->results[i]);
}

static void settle_if(Settling *self, const IrBinding *binding) {
    const SlotChoice *choice = self->choice;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        bool made_on_host = true;
        for (uint32_t b = 0; b < binding->block_count; b++) {
            const IrVariable *made = binding->blocks[b]->results[i];
            if (slot_of(choice, made) == 1) made_on_host = false;
            if (is_computed(choice, made)) variable_computed(self, binding->results[i]);
        }
        if (!made_on_host && !stays(choice, binding->results[i]))
            variable_to_device(self, binding->results[i]);
    }
    for (uint32_t b = 0; b < binding->block_count; b++) {
        const IrBlock *block = binding->blocks[b];
        /* a copy between a tail call and the end would make it an ordinary call */
        for (uint32_t i = 0; results_are(block->last, block) && i < block->result_count; i++)
            unify_variables(self, block->results[i], binding->results[i]);
    }
}

static void settle_call(Settling *self, const IrBinding *binding) {
    const SlotChoice *choice = self->choice;
    const IrFunction *callee = binding->function;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        unify_with_result(self, binding->results[i], callee, i);
        if (is_computed(choice, callee->body->results[i]))
            variable_computed(self, binding->results[i]);
    }
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *parameter = callee->body->parameters[i];
        if (is_computed(choice, binding->operands[i])) variable_computed(self, parameter);
        if (slot_of(choice, binding->operands[i]) == 1 && !stays(choice, parameter))
            variable_to_device(self, parameter);
    }
}

static void settle_function(Settling *self, const IrFunction *function) {
    const SlotChoice *choice = self->choice;
    const IrBlock *body = function->body;
    const uint8_t *needs = choice->result_needs + choice->first_result[function->index];
    bool tail = results_are(body->last, body);
    for (uint32_t i = 0; i < body->result_count; i++) {
        const IrVariable *result = body->results[i];
        if (is_computed(choice, result)) push_list(self, &self->callers, function->index);
        if (tail) unify_with_result(self, result, function, i);
        if (function->exported ? slot_of(choice, result) == 1 || result->constant
                               : slot_of(choice, result) == 1 &&
                                     !(needs[i] == NEEDS_HOST && choice->demanded[result->id]))
            result_to_device(self, function, i);
    }
    for (uint32_t i = 0; function->exported && i < body->parameter_count; i++) {
        const IrVariable *parameter = body->parameters[i];
        if (!stays(choice, parameter)) variable_to_device(self, parameter);
        if (choice->of[parameter->id] == 1) variable_computed(self, parameter);
    }
}

/* Updates the wish of a site, then the variable's needs, which join the wishes of all its sites. */
static void want(Settling *self, size_t site, const IrVariable *variable, uint8_t slot) {
    uint8_t *wanted = &self->wanted[site];
    if (!variable || variable->constant || *wanted == slot) return;
    if (slot < SLOT_HOST_ANY) self->uses[slot][variable->id]++;
    if (*wanted < SLOT_HOST_ANY) self->uses[*wanted][variable->id]--;
    *wanted = slot;
    uint8_t needs = (uint8_t)((self->uses[0][variable->id] ? NEEDS_HOST : 0) |
                              (self->uses[1][variable->id] ? NEEDS_DEVICE : 0));
    if (needs == self->choice->needs[variable->id]) return;
    self->choice->needs[variable->id] = needs;
    touch_variable(self, variable);
}

/* Adds the needs of a call's result to the needs of the function's result. */
static void want_of_callee(Settling *self, size_t site, const IrBinding *call, uint32_t index) {
    uint32_t at = self->choice->first_result[call->function->index] + index;
    uint8_t now = self->choice->needs[call->results[index]->id];
    uint8_t before = self->wanted[site] == WANTED_NOTHING ? 0 : self->wanted[site];
    self->wanted[site] = now;
    for (uint32_t slot = 0; slot < 2; slot++) {
        self->calls[slot][at] += now >> slot & 1;
        self->calls[slot][at] -= before >> slot & 1;
    }
    uint8_t needs =
        (uint8_t)((self->calls[0][at] ? NEEDS_HOST : 0) | (self->calls[1][at] ? NEEDS_DEVICE : 0));
    if (needs == self->choice->result_needs[at]) return;
    self->choice->result_needs[at] = needs;
    push(self, call->function->index);
}

static size_t want_block(Settling *self, size_t site, const IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++)
        want(self, site++, block->results[i], slot_choice_of_result(self->choice, block, i));
    return site;
}

static void refresh(Settling *self, uint32_t index) {
    const Item *item = &self->items[index];
    const IrBinding *binding = item->binding;
    size_t site = item->first_site;
    self->choice->visits++;
    if (!binding) {
        (void)want_block(self, site, item->function->body);
        return;
    }
    for (uint32_t i = 0; i < binding->operand_count; i++, site++)
        if (binding->operands[i])
            want(
                self, site, binding->operands[i], slot_choice_of_operand(self->choice, binding, i));
    for (uint32_t i = 0; i < binding->block_count; i++)
        site = want_block(self, site, binding->blocks[i]);
    for (uint32_t i = 0; binding->kind == IR_CALL && i < binding->result_count; i++)
        want_of_callee(self, site++, binding, i);
}

/* Values of lists, closures and the like are on the device. */
static void settle_other(Settling *self, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (self->choice->of[binding->results[i]->id] == 1)
            variable_computed(self, binding->results[i]);
}

static void settle(Settling *self, uint32_t index) {
    const Item *item = &self->items[index];
    if (!item->binding)
        settle_function(self, item->function);
    else if (item->binding->kind == IR_OPERATOR)
        settle_operator(self, item->binding);
    else if (item->binding->kind == IR_IF)
        settle_if(self, item->binding);
    else if (item->binding->kind == IR_CALL)
        settle_call(self, item->binding);
    else
        settle_other(self, item->binding);
}

/* ---- lists: items by variable, callers by function ---- */

typedef void Visitor(Settling *self, size_t owner, uint32_t item, void *context);

static void visit_block(
    Settling *self, const IrBlock *block, uint32_t item, Visitor *visit, void *context) {
    for (uint32_t i = 0; i < block->result_count; i++)
        visit(self, block->results[i]->id, item, context);
}

static void visit_users(Settling *self, Visitor *visit, void *context) {
    for (uint32_t k = 0; k < self->item_count; k++) {
        const IrBinding *binding = self->items[k].binding;
        if (!binding) {
            visit_block(self, self->items[k].function->body, k, visit, context);
            continue;
        }
        for (uint32_t i = 0; i < binding->operand_count; i++)
            if (binding->operands[i]) visit(self, binding->operands[i]->id, k, context);
        for (uint32_t i = 0; i < binding->block_count; i++)
            visit_block(self, binding->blocks[i], k, visit, context);
    }
}

static void visit_callers(Settling *self, Visitor *visit, void *context) {
    for (uint32_t k = 0; k < self->item_count; k++) {
        const IrBinding *binding = self->items[k].binding;
        if (binding && binding->kind == IR_CALL) visit(self, binding->function->index, k, context);
    }
}

static void count_one(Settling *self, size_t owner, uint32_t item, void *context) {
    Lists *lists = context;
    (void)self, (void)item;
    lists->first[owner + 1]++;
}

/* Fills the lists backwards, so that `first` ends at the owner's beginning. */
static void put_one(Settling *self, size_t owner, uint32_t item, void *context) {
    Lists *lists = context;
    (void)self;
    lists->items[--lists->first[owner + 1]] = item;
}

static Error *make_lists(Settling *self, size_t owners,
    void (*visit_all)(Settling *self, Visitor *visit, void *context), Lists *lists) {
    void *memory;
    TRY(memory_alloc(owners + 2, sizeof(size_t), &memory));
    lists->first = memory;
    visit_all(self, count_one, lists);
    for (size_t i = 0; i < owners; i++) lists->first[i + 1] += lists->first[i];
    size_t count = lists->first[owners];
    TRY(memory_alloc(count + 1, sizeof(uint32_t), &memory));
    lists->items = memory;
    visit_all(self, put_one, lists);
    for (size_t i = 0; i < owners; i++) lists->first[i] = lists->first[i + 1];
    lists->first[owners] = count;
    return NULL;
}

/* ---- running ---- */

static size_t site_count(const Item *item) {
    const IrBinding *binding = item->binding;
    if (!binding) return item->function->body->result_count;
    size_t count = binding->operand_count + (size_t)binding->result_count;
    for (uint32_t i = 0; i < binding->block_count; i++) count += binding->blocks[i]->result_count;
    return count;
}

static void add_items(Settling *self, size_t *out_sites) {
    const IrModule *module = self->choice->module;
    uint32_t count = (uint32_t)module->function_count;
    size_t sites = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        const IrFunction *function = module->functions[f];
        self->items[f].function = function;
        for (uint32_t i = 0; i < function->body->parameter_count; i++)
            self->item_of[function->body->parameters[i]->id] = (uint32_t)f;
        IrBinding *binding = ir_walk_first(function->body);
        for (; binding; binding = ir_walk_next(binding)) {
            self->items[count] = (Item){.binding = binding, .function = function};
            for (uint32_t i = 0; i < binding->result_count; i++)
                self->item_of[binding->results[i]->id] = count;
            count++;
        }
    }
    for (uint32_t i = 0; i < self->item_count; i++) {
        self->items[i].first_site = sites;
        sites += site_count(&self->items[i]);
    }
    *out_sites = sites;
}

static uint32_t count_items(const IrModule *module) {
    uint32_t count = (uint32_t)module->function_count;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) count++;
    }
    return count;
}

static Error *allocate(size_t count, size_t size, void *out_array) {
    void *memory;
    TRY(memory_alloc(count + 1, size, &memory));
    *(void **)out_array = memory;
    return NULL;
}

static Error *prepare(Settling *self) {
    const SlotChoice *choice = self->choice;
    const IrModule *module = choice->module;
    const uint32_t results = choice->first_result[module->function_count];
    size_t sites;
    self->item_count = count_items(module);
    TRY(allocate(self->item_count, sizeof(Item), &self->items));
    TRY(allocate(self->item_count, sizeof(uint32_t), &self->queue));
    TRY(allocate(self->item_count, sizeof(bool), &self->queued));
    TRY(allocate(module->variable_count, sizeof(uint32_t), &self->item_of));
    for (uint32_t slot = 0; slot < 2; slot++) {
        TRY(allocate(module->variable_count, sizeof(uint32_t), &self->uses[slot]));
        TRY(allocate(results, sizeof(uint32_t), &self->calls[slot]));
    }
    add_items(self, &sites);
    TRY(allocate(sites, 1, &self->wanted));
    for (size_t i = 0; i < sites; i++) self->wanted[i] = WANTED_NOTHING;
    TRY(make_lists(self, module->variable_count, visit_users, &self->users));
    return make_lists(self, module->function_count, visit_callers, &self->callers);
}

/* Collects all wishes before the first value moves: until then, no value seems to be needed on the
 * host. */
static Error *run(Settling *self) {
    TRY(prepare(self));
    TRY(slot_demand_find(self->choice));
    for (uint32_t i = 0; i < self->item_count; i++) refresh(self, i);
    for (uint32_t i = 0; i < self->item_count; i++) push(self, i);
    while (self->queue_count > 0) {
        uint32_t item = self->queue[self->queue_first];
        self->queue_first = self->queue_first + 1 < self->item_count ? self->queue_first + 1 : 0;
        self->queue_count--;
        self->queued[item] = false;
        refresh(self, item);
        settle(self, item);
    }
    return NULL;
}

static Error *settle_all(SlotChoice *choice) {
    Settling self = {.choice = choice};
    Error *error = run(&self);
    memory_free(self.items);
    memory_free(self.queue);
    memory_free(self.queued);
    memory_free(self.item_of);
    memory_free(self.wanted);
    for (uint32_t slot = 0; slot < 2; slot++) {
        memory_free(self.uses[slot]);
        memory_free(self.calls[slot]);
    }
    memory_free(self.users.first);
    memory_free(self.users.items);
    memory_free(self.callers.first);
    memory_free(self.callers.items);
    return error;
}

Error *slot_settle(const IrModule *module, SlotChoice *out) {
    SlotChoice choice;
    TRY(slot_choice_begin(module, &choice));
    Error *error = settle_all(&choice);
    if (error)
        slot_choice_deinit(&choice);
    else
        *out = choice;
    return error;
}
