/* Modules of layover.h: a model with the host functions and imports that its code may call. */
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "serialize/relax/relax_text.h"
#include "serialize/relax/relax_translate.h"
#include "tools/library/library_internal.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/closure.h"

enum { IMPORTS_MAX = 1024, FUNCTIONS_MAX = 1 << 14 };

/* The members are guarded by library_lock. */
struct LayoverModule {
    Refcount refcount;
    LayoverModel *model; /* NULL: host functions only */
    LayoverFunction **functions;
    LayoverModule **imports; /* retained */
    size_t function_count, function_capacity, import_count, import_capacity;
    bool linked; /* the model's registry has all that its code calls */
};

/* ---- making ---- */

void layover_module_release(LayoverModule *module) {
    if (!module || !refcount_release(&module->refcount)) return;
    layover_model_close(module->model);
    for (size_t i = 0; i < module->function_count; i++)
        layover_function_release(module->functions[i]);
    for (size_t i = 0; i < module->import_count; i++) layover_module_release(module->imports[i]);
    memory_free(module->functions);
    memory_free(module->imports);
    memory_free(module);
}

DEFINE_OWN(LayoverModule, layover_module_release);

static Error *create(LayoverModule **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverModule), &memory));
    LayoverModule *module = memory;
    refcount_init(&module->refcount);
    *out = module;
    return NULL;
}

LayoverError *layover_module_create(LayoverModule **out_module) {
    return library_error(create(out_module));
}

static Error *load(const char *name, const char *device, LayoverModule **out_module) {
    OWN(LayoverModule, module) = NULL;
    TRY(create(&module));
    TRY(library_open_model(NULL, name, device, &module->model));
    *out_module = TAKE(module);
    return NULL;
}

LayoverError *layover_module_load(
    const char *name, const char *device, LayoverModule **out_module) {
    return library_error(load(name, device, out_module));
}

/* ---- host functions and imports; under the lock ---- */

static Error *check_unused(const LayoverModule *module) {
    if (module->linked)
        FAIL(CONFLICT, "the module is in use: it changes only before a function is asked for");
    return NULL;
}

static LayoverFunction *find_host(const LayoverModule *module, const char *name) {
    for (size_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i]->name, name) == 0) return module->functions[i];
    return NULL;
}

/* The module's own exported bytecode of that name. */
static bool find_bytecode(const LayoverModule *module, const char *name, uint32_t *out_index) {
    if (!module->model) return false;
    Error *error = executable_find_function(module->model->residency->executable, name, out_index);
    if (!error) return true;
    error_free(error); /* the caller looks elsewhere */
    return false;
}

static Error *insert(LayoverModule *module, LayoverFunction *function) {
    uint32_t index;
    TRY(check_unused(module));
    if (find_host(module, function->name) || find_bytecode(module, function->name, &index))
        FAIL(CONFLICT, "the module has a function %s already", function->name);
    if (module->function_count >= FUNCTIONS_MAX)
        FAIL(EXHAUSTED, "more than %d functions in a module", FUNCTIONS_MAX);
    void *memory = module->functions;
    TRY(memory_grow(
        &memory, module->function_count, &module->function_capacity, sizeof *module->functions));
    module->functions = memory;
    module->functions[module->function_count++] = function;
    return NULL;
}

static Error *add_function(LayoverModule *module, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context)) {
    OWN(LayoverFunction, made) = NULL;
    TRY(library_function_create(name, arity, function, context, NULL, &made));
    library_lock();
    Error *error = insert(module, made);
    if (!error) made->release = release; /* before the lock shows the function to others */
    library_unlock();
    if (!error) (void)TAKE(made);
    return error;
}

LayoverError *layover_module_add_function(LayoverModule *module, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context)) {
    return library_error(add_function(module, name, arity, function, context, release));
}

static bool reaches(const LayoverModule *from, const LayoverModule *to) {
    if (from == to) return true;
    for (size_t i = 0; i < from->import_count; i++)
        if (reaches(from->imports[i], to)) return true;
    return false;
}

static Error *import(LayoverModule *module, LayoverModule *imported) {
    TRY(check_unused(module));
    for (size_t i = 0; i < module->import_count; i++)
        if (module->imports[i] == imported) return NULL;
    if (reaches(imported, module)) FAIL(CONFLICT, "the imported module imports this one");
    if (module->import_count >= IMPORTS_MAX)
        FAIL(EXHAUSTED, "more than %d imports of a module", IMPORTS_MAX);
    void *memory = module->imports;
    TRY(memory_grow(
        &memory, module->import_count, &module->import_capacity, sizeof *module->imports));
    module->imports = memory;
    refcount_retain(&imported->refcount);
    module->imports[module->import_count++] = imported;
    return NULL;
}

LayoverError *layover_module_import(LayoverModule *module, LayoverModule *imported) {
    library_lock();
    Error *error = import(module, imported);
    library_unlock();
    return library_error(error);
}

static Error *allow_native(LayoverModule *module, const char *preload) {
    char *copy = NULL;
    TRY(check_unused(module));
    if (!module->model) FAIL(CONFLICT, "a module without a model has no native code");
    if (preload && *preload) TRY(memory_copy_text(preload, &copy));
    memory_free(module->model->native_preload);
    module->model->native_preload = copy;
    module->model->native_allowed = true;
    return NULL;
}

LayoverError *layover_module_allow_native(LayoverModule *module, const char *preload) {
    library_lock();
    Error *error = allow_native(module, preload);
    library_unlock();
    return library_error(error);
}

/* ---- linking; under the lock ---- */

static bool has(const PackedRegistry *registry, const char *name) {
    return packed_registry_find(registry, name) != NULL;
}

static Error *link_hosts(PackedRegistry *registry, LayoverModel *model, const LayoverModule *from) {
    for (size_t i = 0; i < from->function_count; i++)
        if (!has(registry, from->functions[i]->name))
            TRY(library_function_link(registry, model, from->functions[i]));
    for (size_t i = 0; i < from->import_count; i++)
        TRY(link_hosts(registry, model, from->imports[i]));
    return NULL;
}

static bool imports_bytecode(const LayoverModule *module, const char *name) {
    uint32_t index;
    for (size_t i = 0; i < module->import_count; i++)
        if (find_bytecode(module->imports[i], name, &index) ||
            imports_bytecode(module->imports[i], name))
            return true;
    return false;
}

static Error *check_complete(const LayoverModule *module, const PackedRegistry *registry) {
    const Executable *executable = module->model->residency->executable;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if (function->kind != FUNCTION_PACKED || has(registry, function->name)) continue;
        if (imports_bytecode(module, function->name))
            FAIL(UNSUPPORTED,
                "%s is bytecode of an imported module, which another module's code cannot call",
                function->name);
        if (executable->native_library == EXECUTABLE_NO_LIBRARY)
            FAIL(NOT_FOUND,
                "there is no packed function %s in the module, its imports, or among the "
                "registered functions",
                function->name);
    }
    return NULL;
}

/* Each attempt begins with a new registry, so that a failed one leaves nothing behind. */
static Error *link_module(LayoverModule *module) {
    OWN(PackedRegistry, registry) = NULL;
    if (module->linked || !module->model) return NULL;
    TRY(packed_registry_create(&registry));
    TRY(link_hosts(registry, module->model, module));
    TRY(library_globals_link(registry, module->model));
    TRY(check_complete(module, registry));
    packed_registry_release(module->model->packed);
    module->model->packed = TAKE(registry);
    module->linked = true;
    return NULL;
}

/* ---- looking up ---- */

static Error *make_handle(LayoverModule *module, uint32_t index, LayoverFunction **out) {
    OWN(Closure, closure) = NULL;
    const char *name = module->model->residency->executable->functions[index].name;
    TRY(link_module(module));
    TRY(closure_create(NULL, index, CLOSURE_LAST, 0, &closure));
    Value value = value_object(OBJECT_CLOSURE, TAKE(closure));
    Error *error = library_function_of_value(module->model, name, &value, out);
    value_release(&value);
    return error;
}

/* *out stays NULL where there is none. */
static Error *search(LayoverModule *module, const char *name, LayoverFunction **out) {
    uint32_t index;
    LayoverFunction *host = find_host(module, name);
    if (host) *out = library_function_retain(host);
    if (host) return NULL;
    if (find_bytecode(module, name, &index)) return make_handle(module, index, out);
    for (size_t i = 0; i < module->import_count && !*out; i++)
        TRY(search(module->imports[i], name, out));
    return NULL;
}

static Error *get_function(LayoverModule *module, const char *name, LayoverFunction **out) {
    LayoverFunction *found = NULL;
    TRY(search(module, name, &found));
    if (!found) {
        found = library_globals_find(name);
        if (!found)
            FAIL(NOT_FOUND,
                "there is no function %s in the module, its imports, or among the registered "
                "functions",
                name);
        (void)library_function_retain(found);
    }
    *out = found;
    return NULL;
}

LayoverError *layover_module_get_function(
    LayoverModule *module, const char *name, LayoverFunction **out_function) {
    library_lock();
    Error *error = get_function(module, name, out_function);
    library_unlock();
    return library_error(error);
}

static Error *get_model(LayoverModule *module, LayoverModel **out_model) {
    if (!module->model) FAIL(NOT_FOUND, "the module has no model");
    TRY(link_module(module));
    *out_model = module->model;
    return NULL;
}

LayoverError *layover_module_get_model(LayoverModule *module, LayoverModel **out_model) {
    library_lock();
    Error *error = get_model(module, out_model);
    library_unlock();
    return library_error(error);
}

static Error *list_functions(const LayoverModule *module, LayoverValue *out_names) {
    void *memory;
    const Executable *executable = module->model ? module->model->residency->executable : NULL;
    const uint32_t own = executable ? executable->function_count : 0;
    uint32_t count = 0;
    TRY(memory_alloc(own + module->function_count, sizeof(char *), &memory));
    const char **names = memory;
    for (uint32_t i = 0; i < own; i++)
        if (executable->functions[i].kind == FUNCTION_BYTECODE &&
            executable->functions[i].flags & FUNCTION_EXPORTED)
            names[count++] = executable->functions[i].name;
    for (size_t i = 0; i < module->function_count; i++) names[count++] = module->functions[i]->name;
    Error *error = library_value_names(names, count, out_names);
    memory_free(memory);
    return error;
}

LayoverError *layover_module_list_functions(LayoverModule *module, LayoverValue *out_names) {
    library_lock();
    Error *error = list_functions(module, out_names);
    library_unlock();
    return library_error(error);
}

/* ---- facts about functions ---- */

/* *out_host is NULL for bytecode. */
static Error *find_own(const LayoverModule *module, const char *name, const Function **out_function,
    const LayoverFunction **out_host) {
    uint32_t index;
    *out_host = find_host(module, name);
    if (*out_host) return NULL;
    if (!module->model) FAIL(NOT_FOUND, "the module has no function %s", name);
    TRY(executable_find_function(module->model->residency->executable, name, &index));
    *out_function = &module->model->residency->executable->functions[index];
    return NULL;
}

LayoverError *layover_module_get_function_arity(
    LayoverModule *module, const char *function, int32_t *out_arity) {
    const Function *found;
    const LayoverFunction *host;
    library_lock();
    Error *error = find_own(module, function, &found, &host);
    if (!error) *out_arity = host ? host->arity : (int32_t)found->parameter_count;
    library_unlock();
    return library_error(error);
}

static Error *get_param_name(
    const LayoverModule *module, const char *function, uint32_t index, const char **out_name) {
    const Function *found;
    const LayoverFunction *host;
    TRY(find_own(module, function, &found, &host));
    if (host) FAIL(INVALID, "%s is a host function, whose parameters have no names", function);
    if (index >= found->parameter_count)
        FAIL(INVALID, "parameter %u of %s, which has %u", index, function, found->parameter_count);
    *out_name = found->parameters ? found->parameters[index].name : "";
    return NULL;
}

LayoverError *layover_module_get_function_param_name(
    LayoverModule *module, const char *function, uint32_t index, const char **out_name) {
    library_lock();
    Error *error = get_param_name(module, function, index, out_name);
    library_unlock();
    return library_error(error);
}

/* ---- texts; a module's executable never changes, so no lock is needed ---- */

typedef Error *RelaxPrint(const RelaxFile *file, TextBuilder *out);

static Error *get_text(
    const LayoverModule *module, RelaxPrint *print, bool assembly, LayoverValue *out_text) {
    TextBuilder OWN_TEXT(text) = {0};
    OWN(RelaxFile, relax) = NULL;
    char *made;
    if (!module->model) FAIL(CONFLICT, "the module has no model");
    const Executable *executable = module->model->residency->executable;
    if (assembly && !executable->source) {
        TRY(assembly_print(executable, false, &text));
    } else {
        TRY(relax_translate_outline(executable, &relax));
        TRY(print(relax, &text));
    }
    TRY(text_builder_take(&text, &made));
    *out_text = (LayoverValue){LAYOVER_STRING, {.text = made}};
    return NULL;
}

LayoverError *layover_module_as_text(LayoverModule *module, LayoverValue *out_text) {
    return library_error(get_text(module, relax_text_print, true, out_text));
}

LayoverError *layover_module_as_python(LayoverModule *module, LayoverValue *out_text) {
    return library_error(get_text(module, relax_text_print_python, false, out_text));
}

LayoverError *layover_module_stats(LayoverModule *module, LayoverValue *out_text) {
    return library_error(get_text(module, relax_text_print_stats, false, out_text));
}
