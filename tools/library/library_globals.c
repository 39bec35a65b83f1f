/* The functions of layover.h that are registered for the whole process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "tools/library/library_internal.h"

enum { GLOBALS_MAX = 1 << 14 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LayoverFunction **functions; /* guarded by the mutex; sorted by name */
static size_t function_count, function_capacity;

void library_lock(void) { (void)pthread_mutex_lock(&mutex); }
void library_unlock(void) { (void)pthread_mutex_unlock(&mutex); }

/* The place of the first name that is not smaller. */
static size_t place_of(const char *name) {
    size_t low = 0, high = function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(functions[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(size_t place, const char *name) {
    return place < function_count && strcmp(functions[place]->name, name) == 0;
}

LayoverFunction *library_globals_find(const char *name) {
    const size_t place = place_of(name);
    return is_at(place, name) ? functions[place] : NULL;
}

Error *library_globals_link(PackedRegistry *registry, LayoverModel *model) {
    for (size_t i = 0; i < function_count; i++)
        if (!packed_registry_find(registry, functions[i]->name))
            TRY(library_function_link(registry, model, functions[i]));
    return NULL;
}

/* Under the lock. The function that was replaced is the caller's. */
static Error *insert(LayoverFunction *function, bool replace, LayoverFunction **out_replaced) {
    const size_t place = place_of(function->name);
    if (is_at(place, function->name)) {
        if (!replace) FAIL(CONFLICT, "there is a registered function %s already", function->name);
        *out_replaced = functions[place];
        functions[place] = function;
        return NULL;
    }
    if (function_count >= GLOBALS_MAX)
        FAIL(EXHAUSTED, "more than %d registered functions", GLOBALS_MAX);
    void *memory = functions;
    TRY(memory_grow(&memory, function_count, &function_capacity, sizeof *functions));
    functions = memory;
    memmove(&functions[place + 1], &functions[place], (function_count - place) * sizeof *functions);
    functions[place] = function;
    function_count++;
    return NULL;
}

/* A function of that name would never be called. */
static Error *check_no_builtin(const char *name) {
    OWN(PackedRegistry, builtins) = NULL;
    TRY(packed_registry_create(&builtins));
    if (packed_registry_find(builtins, name)) FAIL(CONFLICT, "%s is a builtin function", name);
    return NULL;
}

static Error *register_function(const char *name, int32_t arity, LayoverPackedFunction *function,
    void *context, void (*release)(void *context), bool replace) {
    LayoverFunction *replaced = NULL;
    OWN(LayoverFunction, made) = NULL;
    TRY(library_function_create(name, arity, function, context, NULL, &made));
    TRY(check_no_builtin(name));
    library_lock();
    Error *error = insert(made, replace, &replaced);
    if (!error) made->release = release; /* before the lock shows the function to others */
    library_unlock();
    if (!error) (void)TAKE(made);
    layover_function_release(replaced);
    return error;
}

LayoverError *layover_function_register(const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context), int replace) {
    return library_error(register_function(name, arity, function, context, release, replace != 0));
}

static Error *unregister_function(const char *name) {
    LayoverFunction *found = NULL;
    library_lock();
    const size_t place = place_of(name);
    if (is_at(place, name)) {
        found = functions[place];
        function_count--;
        memmove(
            &functions[place], &functions[place + 1], (function_count - place) * sizeof *functions);
    }
    library_unlock();
    if (!found) FAIL(NOT_FOUND, "there is no registered function %s", name);
    layover_function_release(found);
    return NULL;
}

LayoverError *layover_function_unregister(const char *name) {
    return library_error(unregister_function(name));
}

static Error *find_function(const char *name, LayoverFunction **out_function) {
    library_lock();
    LayoverFunction *found = library_globals_find(name);
    if (found) *out_function = library_function_retain(found);
    library_unlock();
    if (!found) FAIL(NOT_FOUND, "there is no registered function %s", name);
    return NULL;
}

LayoverError *layover_function_find(const char *name, LayoverFunction **out_function) {
    return library_error(find_function(name, out_function));
}

/* Under the lock. */
static Error *list(LayoverValue *out_names) {
    void *memory;
    TRY(memory_alloc(function_count, sizeof(char *), &memory));
    const char **names = memory;
    for (size_t i = 0; i < function_count; i++) names[i] = functions[i]->name;
    Error *error = library_value_names(names, (uint32_t)function_count, out_names);
    memory_free(memory);
    return error;
}

LayoverError *layover_function_list(LayoverValue *out_names) {
    library_lock();
    Error *error = list(out_names);
    library_unlock();
    return library_error(error);
}
