#include "scheduler/executor/resident_models.h"

#include <pthread.h>

#include "base/allocator.h"
#include "scheduler/executor/tenant_images.h"
#include "serialize/container/executable_file.h"
#include "base/digest_set.h"
#include "store/models/stored_executable.h"
#include "vm/residency/residency_image.h"

enum {
    ENTRY_BYTES = 64 << 10, /* of a model beside its weights, roughly */
    WARNED_MAX = 1024,      /* models; of more than these nothing is said */
    SHARED = 0,             /* no tenant */
};

typedef struct Entry {
    ResidentModel model; /* first: callers hold a pointer to this member */
    TenantId scope;      /* the owner where tenants are isolated; else SHARED */
    Executable *data;    /* with its weights, if the model is an outline and has no image */
    uint64_t holds;
    Residency *residencies[RESIDENT_DEVICES_MAX];
    TenantId *owners; /* tenants that have the model according to the store */
    size_t owner_count, owner_capacity;
    bool reading;        /* by the thread that made the entry; executable is NULL until then */
    uint64_t idle_since; /* ResidentModels.turn when the last use ended; 0: in use */
    struct Entry *next;  /* of all, or of those that are to be freed */
} Entry;

struct ResidentModels {
    ResidentModelsOptions options;
    pthread_mutex_t mutex;
    pthread_cond_t read; /* an entry's reading ended */
    Entry *entries;
    uint64_t turn, idle_bytes;
    DigestSet warned_of; /* models whose image could not be kept */
};

Error *resident_models_create(const ResidentModelsOptions *options, ResidentModels **out_models) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ResidentModels), &memory));
    ResidentModels *models = memory;
    models->options = *options;
    (void)pthread_mutex_init(&models->mutex, NULL);
    (void)pthread_cond_init(&models->read, NULL);
    *out_models = models;
    return NULL;
}

static void free_entry(Entry *entry) {
    for (uint32_t i = 0; i < RESIDENT_DEVICES_MAX; i++) residency_release(entry->residencies[i]);
    executable_release(entry->model.executable);
    executable_release(entry->data);
    memory_free(entry->owners);
    memory_free(entry);
}

static void free_entries(Entry *first) {
    for (Entry *entry = first, *next; entry; entry = next) {
        next = entry->next;
        free_entry(entry);
    }
}

void resident_models_destroy(ResidentModels *models) {
    if (!models) return;
    free_entries(models->entries);
    digest_set_deinit(&models->warned_of);
    (void)pthread_cond_destroy(&models->read);
    (void)pthread_mutex_destroy(&models->mutex);
    memory_free(models);
}

static TenantId scope_of(const ResidentModels *models, TenantId tenant) {
    return models->options.isolate ? tenant : SHARED;
}

/* Under the mutex. */
static Entry *find_entry(ResidentModels *models, TenantId tenant, const Digest *identity) {
    TenantId scope = scope_of(models, tenant);
    for (Entry *entry = models->entries; entry; entry = entry->next)
        if (entry->scope == scope && digest_equal(&entry->model.identity, identity)) return entry;
    return NULL;
}

static Entry *entry_of(const ResidentModel *model) {
    return (Entry *)(uintptr_t)model; /* its first member */
}

/* Changes only while the model is held. */
static uint64_t bytes_of(const Entry *entry) {
    bool has_weights = entry->data || !entry->model.executable->outline;
    return ENTRY_BYTES + (has_weights ? entry->model.constant_bytes : 0);
}

static void unlink_entry(ResidentModels *models, Entry *entry) {
    Entry **link = &models->entries;
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
}

/* Under the mutex. Marks the entry as needed. */
static void hold_entry(ResidentModels *models, Entry *entry) {
    if (entry->idle_since) models->idle_bytes -= bytes_of(entry);
    entry->idle_since = 0;
    entry->holds++;
}

static Entry *find_longest_idle(const ResidentModels *models) {
    Entry *oldest = NULL;
    for (Entry *entry = models->entries; entry; entry = entry->next)
        if (entry->idle_since && (!oldest || entry->idle_since < oldest->idle_since))
            oldest = entry;
    return oldest;
}

/* Under the mutex. Entries that are not needed stay in host memory as long as there is room, the
 * most recently needed before others; returns those to free, for free_entries. */
static Entry *rest(ResidentModels *models, Entry *entry) {
    Entry *leaving = NULL, *oldest;
    if (entry->holds > 0) return NULL;
    for (uint32_t i = 0; i < RESIDENT_DEVICES_MAX; i++)
        if (entry->residencies[i]) return NULL;
    if (!entry->model.executable) { /* the model could not be read */
        unlink_entry(models, entry);
        entry->next = NULL;
        return entry;
    }
    if (!entry->idle_since) models->idle_bytes += bytes_of(entry);
    entry->idle_since = ++models->turn;
    while (models->idle_bytes > models->options.idle_bytes_max &&
           (oldest = find_longest_idle(models))) {
        models->idle_bytes -= bytes_of(oldest);
        unlink_entry(models, oldest);
        oldest->next = leaving;
        leaving = oldest;
    }
    return leaving;
}

static Error *read_executable(
    ResidentModels *models, StoredExecutable *stored, bool outline, Executable **out) {
    OWN(Container, container) = NULL;
    size_t size;
    const uint8_t *manifest = stored_executable_manifest(stored, &size);
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, manifest, size, stored_executable_source(stored), &container));
    if (outline) return executable_read_outline(container, out);
    return executable_read(container, models->options.pool, CHUNK_VERIFY_XXH3, out);
}

/* Under the mutex: the entry with one more hold; a new one is to be read by the caller. */
static Error *take_entry(ResidentModels *models, TenantId tenant, const Digest *identity,
    Entry **out_entry, bool *out_new) {
    Entry *entry;
    while ((entry = find_entry(models, tenant, identity)) && entry->reading)
        (void)pthread_cond_wait(&models->read, &models->mutex);
    *out_new = !entry;
    if (!entry) {
        void *memory;
        TRY(memory_alloc(1, sizeof(Entry), &memory));
        entry = memory;
        entry->model.identity = *identity;
        entry->scope = scope_of(models, tenant);
        entry->reading = true;
        entry->next = models->entries;
        models->entries = entry;
    }
    hold_entry(models, entry);
    *out_entry = entry;
    return NULL;
}

static Error *finish_reading(ResidentModels *models, Entry *entry, StoredExecutable *stored) {
    Executable *executable = NULL;
    Entry *unused = NULL;
    Error *error = read_executable(models, stored, models->options.images, &executable);
    (void)pthread_mutex_lock(&models->mutex);
    entry->reading = false;
    if (error) {
        entry->holds--;
        unused = rest(models, entry);
    } else {
        entry->model.executable = executable;
        entry->model.constant_bytes = executable_constant_bytes(executable);
    }
    (void)pthread_cond_broadcast(&models->read);
    (void)pthread_mutex_unlock(&models->mutex);
    free_entries(unused);
    return error;
}

static bool is_owner(const Entry *entry, TenantId tenant) {
    for (size_t i = 0; i < entry->owner_count; i++)
        if (entry->owners[i] == tenant) return true;
    return false;
}

/* Under the mutex. If there is no memory for the owner, the store is asked again next time. */
static void add_owner(Entry *entry, TenantId tenant) {
    void *memory = entry->owners;
    if (is_owner(entry, tenant)) return;
    Error *error =
        memory_grow(&memory, entry->owner_count, &entry->owner_capacity, sizeof *entry->owners);
    if (!error) {
        entry->owners = memory;
        entry->owners[entry->owner_count++] = tenant;
    }
    error_free(error);
}

/* Holds an entry that is in memory and known to be the tenant's; else NULL. */
static Entry *hold_known(ResidentModels *models, TenantId tenant, const Digest *identity) {
    (void)pthread_mutex_lock(&models->mutex);
    Entry *entry = find_entry(models, tenant, identity);
    if (entry && (entry->reading || !is_owner(entry, tenant))) entry = NULL;
    if (entry) hold_entry(models, entry);
    (void)pthread_mutex_unlock(&models->mutex);
    return entry;
}

bool resident_models_try_hold(ResidentModels *models, TenantId tenant, const Digest *identity,
    uint32_t device_index, const ResidentModel **out_model, Residency **out_residency) {
    Entry *entry = hold_known(models, tenant, identity);
    if (!entry) return false;
    Residency *residency = resident_models_get(models, tenant, identity, device_index);
    if (!residency) {
        resident_models_let_go(models, &entry->model);
        return false;
    }
    *out_model = &entry->model;
    *out_residency = residency;
    return true;
}

static Error *hold_stored(
    ResidentModels *models, TenantId tenant, const Digest *identity, Entry **out_entry) {
    OWN(StoredExecutable, stored) = NULL; /* also if the model is in memory: the tenant must have
                                           * it in the store */
    Entry *entry = NULL;
    bool is_new = false;
    TRY(stored_executable_open(models->options.store, tenant, identity, &stored));
    (void)pthread_mutex_lock(&models->mutex);
    Error *error = take_entry(models, tenant, identity, &entry, &is_new);
    if (!error) add_owner(entry, tenant);
    (void)pthread_mutex_unlock(&models->mutex);
    TRY(error);
    if (is_new) TRY(finish_reading(models, entry, stored));
    *out_entry = entry;
    return NULL;
}

Error *resident_models_hold(ResidentModels *models, TenantId tenant, const Digest *identity,
    const ResidentModel **out_model) {
    Entry *entry = hold_known(models, tenant, identity);
    if (!entry) TRY(hold_stored(models, tenant, identity, &entry));
    *out_model = &entry->model;
    return NULL;
}

void resident_models_let_go(ResidentModels *models, const ResidentModel *model) {
    if (!model) return;
    Entry *entry = entry_of(model);
    (void)pthread_mutex_lock(&models->mutex);
    entry->holds--;
    Entry *unused = rest(models, entry);
    (void)pthread_mutex_unlock(&models->mutex);
    free_entries(unused);
}

/* Under the mutex: the residency, unless another thread was faster. Answers the one not needed. */
static Residency *install(Residency *residency, Residency **place) {
    if (*place) return residency;
    *place = residency;
    return NULL;
}

/* Errors of a cache are no result of a caller: only the operator of the machine can act on them. */
static void warn_once(ResidentModels *models, const Digest *identity, const Error *error) {
    const ResidentModelsOptions *options = &models->options;
    if (!error || !options->warn || error_code(error) == ERROR_DEVICE_LOST) return;
    (void)pthread_mutex_lock(&models->mutex);
    bool known =
        digest_set_find(&models->warned_of, identity) || models->warned_of.count == WARNED_MAX;
    Error *failure = known ? NULL : digest_set_add(&models->warned_of, identity, 1);
    (void)pthread_mutex_unlock(&models->mutex);
    if (!known && !failure) options->warn(options->warn_context, error_message(error));
    error_free(failure); /* no memory to remember the model: the warning would be repeated again
                          * and again */
}

/* The images that the entry's model may come from. NULL: none are kept. */
static const WeightImages *images_of(
    const ResidentModels *models, const Entry *entry, TenantImages *own) {
    const WeightImages *images = models->options.images;
    if (!images || entry->scope == SHARED) return images;
    tenant_images_init(own, images, entry->scope);
    return &own->images;
}

/* Decodes a model whose weights are in no image, and keeps an image for the next time. */
static Error *make_resident(ResidentModels *models, TenantId tenant, Entry *entry, Device *device,
    Residency **out_residency) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Executable, data) = NULL;
    OWN(Residency, residency) = NULL;
    bool kept = false;
    TenantImages own;
    const ResidentModelsOptions *options = &models->options;
    const WeightImages *images = images_of(models, entry, &own);
    TRY(stored_executable_open(models->options.store, tenant, &entry->model.identity, &stored));
    TRY(read_executable(models, stored, false, &data));
    ResidencySource source = {.data = data};
    TRY(residency_create_from(
        entry->model.executable, options->host, device, options->pool, &source, &residency));
    Error *error = residency_image_keep(residency, images, options->pool, &kept);
    warn_once(models, &entry->model.identity, error);
    error_free(error); /* without one the model is as good, and slower the next time */
    if (!kept) {
        (void)pthread_mutex_lock(&models->mutex);
        if (!entry->data) entry->data = TAKE(data);
        (void)pthread_mutex_unlock(&models->mutex);
    }
    *out_residency = TAKE(residency);
    return NULL;
}

static Error *find_resident(
    ResidentModels *models, Entry *entry, Device *device, Residency **out_residency) {
    (void)pthread_mutex_lock(&models->mutex);
    OWN(Executable, data) = entry->data ? executable_retain(entry->data) : NULL;
    (void)pthread_mutex_unlock(&models->mutex);
    bool outline = entry->model.executable->outline;
    const ResidentModelsOptions *options = &models->options;
    TenantImages own;
    ResidencySource source = {
        .images = outline ? images_of(models, entry, &own) : NULL, .data = data};
    return residency_create_from(
        entry->model.executable, options->host, device, options->pool, &source, out_residency);
}

/* Makes the model resident from its image, else from the decoded executable. */
static Error *bring_resident(ResidentModels *models, TenantId tenant, Entry *entry, Device *device,
    Residency **out_residency) {
    TRY(find_resident(models, entry, device, out_residency));
    return *out_residency ? NULL : make_resident(models, tenant, entry, device, out_residency);
}

Error *resident_models_load(ResidentModels *models, TenantId tenant, const Digest *identity,
    uint32_t device_index, Device *device) {
    const ResidentModel *held;
    Residency *residency = NULL;
    TRY(resident_models_hold(models, tenant, identity, &held));
    Entry *entry = entry_of(held);
    Error *error = bring_resident(models, tenant, entry, device, &residency);
    if (!error) {
        (void)pthread_mutex_lock(&models->mutex);
        Residency *surplus = install(residency, &entry->residencies[device_index]);
        (void)pthread_mutex_unlock(&models->mutex);
        residency_release(surplus);
    }
    resident_models_let_go(models, held);
    return error;
}

Error *resident_models_prepare(
    ResidentModels *models, TenantId tenant, const Digest *identity, Device *device) {
    const ResidentModel *held;
    OWN(Residency, residency) = NULL;
    if (!models->options.images) return NULL;
    TRY(resident_models_hold(models, tenant, identity, &held));
    Entry *entry = entry_of(held);
    Error *error = bring_resident(models, tenant, entry, device, &residency);
    resident_models_let_go(models, held);
    return error;
}

Residency *resident_models_get(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index) {
    (void)pthread_mutex_lock(&models->mutex);
    Entry *entry = find_entry(models, tenant, identity);
    Residency *residency = entry ? entry->residencies[device_index] : NULL;
    if (residency) (void)residency_retain(residency);
    (void)pthread_mutex_unlock(&models->mutex);
    return residency;
}

void resident_models_evict(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index) {
    Residency *residency = NULL;
    Entry *unused = NULL;
    (void)pthread_mutex_lock(&models->mutex);
    Entry *entry = find_entry(models, tenant, identity);
    if (entry) {
        residency = entry->residencies[device_index];
        entry->residencies[device_index] = NULL;
        if (!entry->reading) unused = rest(models, entry);
    }
    (void)pthread_mutex_unlock(&models->mutex);
    residency_release(residency);
    free_entries(unused);
}

void resident_models_evict_all(ResidentModels *models, uint32_t device_index) {
    Digest identity;
    TenantId scope = SHARED;
    for (bool found = true; found;) {
        found = false;
        (void)pthread_mutex_lock(&models->mutex);
        for (const Entry *entry = models->entries; entry && !found; entry = entry->next) {
            found = entry->residencies[device_index];
            identity = entry->model.identity;
            scope = entry->scope;
        }
        (void)pthread_mutex_unlock(&models->mutex);
        if (found) resident_models_evict(models, scope, &identity, device_index);
    }
}
