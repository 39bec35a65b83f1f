#include "scheduler/simulate/scenario.h"

#include <string.h>

#include <json-c/json.h>

#include "base/duration.h"
#include "scheduler/policy/policy.h"

typedef enum KeyKind { KEY_NUMBER, KEY_RANGE, KEY_CLASSES, KEY_WEIGHTS, KEY_QUOTAS } KeyKind;

typedef struct Key {
    const char *name;
    KeyKind kind;
    size_t offset;
    uint64_t scale; /* 0: 1 */
    uint64_t most;  /* before scaling */
} Key;

#define TIME_MS_MAX ((uint64_t)1000 * 3600 * 24 * 365)
#define PERMILLE_MAX ((uint64_t)1000)

#define KEY(Type, name, kind, member, scale, most)                                                 \
    { name, kind, offsetof(Type, member), scale, most }

static const Key device_keys[] = {
    KEY(ScenarioDevices, "count", KEY_NUMBER, count, 0, SCENARIO_DEVICES_MAX),
    KEY(ScenarioDevices, "memory_bytes", KEY_NUMBER, memory_bytes, 0, POLICY_BYTES_MAX),
    KEY(ScenarioDevices, "speed", KEY_NUMBER, speed, 0, POLICY_WEIGHT_MAX),
    KEY(ScenarioDevices, "kernel_us", KEY_NUMBER, kernel_ns, 1000, 1000000000),
    KEY(ScenarioDevices, "bytes_per_ms", KEY_NUMBER, bytes_per_ms, 0, POLICY_BYTES_MAX),
    KEY(ScenarioDevices, "lost_every_ms", KEY_NUMBER, lost_every_ms, 0, TIME_MS_MAX),
    KEY(ScenarioDevices, "back_after_ms", KEY_NUMBER, back_after_ms, 0, TIME_MS_MAX),
    {0},
};

static const Key tenant_keys[] = {
    KEY(ScenarioTenants, "count", KEY_NUMBER, count, 0, SCENARIO_TENANTS_MAX),
    KEY(ScenarioTenants, "weights", KEY_WEIGHTS, weights, 0, POLICY_WEIGHT_MAX),
    KEY(ScenarioTenants, "quotas", KEY_QUOTAS, limits, 0, 0),
    {0},
};

static const Key model_keys[] = {
    KEY(ScenarioModels, "count", KEY_NUMBER, count, 0, SCENARIO_MODELS_MAX),
    KEY(ScenarioModels, "constant_bytes", KEY_RANGE, constant_bytes, 0, POLICY_BYTES_MAX),
    {0},
};

static const Key job_keys[] = {
    KEY(ScenarioJobs, "count", KEY_NUMBER, count, 0, SCENARIO_JOBS_MAX),
    KEY(ScenarioJobs, "tenant_first", KEY_NUMBER, tenant_first, 0, SCENARIO_TENANTS_MAX),
    KEY(ScenarioJobs, "tenant_count", KEY_NUMBER, tenant_count, 0, SCENARIO_TENANTS_MAX),
    KEY(ScenarioJobs, "model_first", KEY_NUMBER, model_first, 0, SCENARIO_MODELS_MAX),
    KEY(ScenarioJobs, "model_count", KEY_NUMBER, model_count, 0, SCENARIO_MODELS_MAX),
    KEY(ScenarioJobs, "classes", KEY_CLASSES, class_chances, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "start_ms", KEY_NUMBER, start_ms, 0, TIME_MS_MAX),
    KEY(ScenarioJobs, "mean_gap_us", KEY_NUMBER, mean_gap_us, 0, TIME_MS_MAX),
    KEY(ScenarioJobs, "device_us", KEY_RANGE, device_us, 0, TIME_MS_MAX),
    KEY(ScenarioJobs, "live_bytes", KEY_RANGE, live_bytes, 0, POLICY_BYTES_MAX),
    KEY(ScenarioJobs, "weight", KEY_RANGE, weight, 0, POLICY_WEIGHT_MAX),
    KEY(ScenarioJobs, "deadline_ms", KEY_RANGE, deadline_ms, 0, TIME_MS_MAX),
    KEY(ScenarioJobs, "device", KEY_NUMBER, device, 0, SCENARIO_DEVICES_MAX),
    KEY(ScenarioJobs, "grow_bytes", KEY_RANGE, grow_bytes, 0, POLICY_BYTES_MAX),
    KEY(ScenarioJobs, "grow_permille", KEY_NUMBER, grow, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "block_permille", KEY_NUMBER, block, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "checkpoint_permille", KEY_NUMBER, checkpoint, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "fail_permille", KEY_NUMBER, fail, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "suspend_permille", KEY_NUMBER, suspend, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "cancel_permille", KEY_NUMBER, cancel, 0, PERMILLE_MAX),
    KEY(ScenarioJobs, "blocked_ms", KEY_NUMBER, blocked_ms, 0, TIME_MS_MAX),
    KEY(ScenarioJobs, "suspended_ms", KEY_NUMBER, suspended_ms, 0, TIME_MS_MAX),
    {0},
};

static const Key scenario_keys[] = {
    KEY(Scenario, "seed", KEY_NUMBER, seed, 0, INT64_MAX),
    KEY(Scenario, "quantum_us", KEY_NUMBER, config.quantum_ns, 1000, 1000000000),
    KEY(Scenario, "floor_permille", KEY_NUMBER, config.floor_permille, 0, 333),
    KEY(Scenario, "floor_window_ms", KEY_NUMBER, config.floor_window_ns, MILLISECOND_NS, 3600000),
    KEY(Scenario, "swap_ms", KEY_NUMBER, config.swap_ns, MILLISECOND_NS, 3600000),
    KEY(Scenario, "host_bytes", KEY_NUMBER, config.host_bytes, 0, INT64_MAX),
    KEY(Scenario, "slow_moves_permille", KEY_NUMBER, slow_moves, 0, PERMILLE_MAX),
    KEY(Scenario, "failed_moves_permille", KEY_NUMBER, failed_moves, 0, PERMILLE_MAX),
    {0},
};

static Error *read_number(const Key *key, json_object *value, uint64_t *out) {
    int64_t number = json_object_get_int64(value);
    if (!json_object_is_type(value, json_type_int) || number < 0 || (uint64_t)number > key->most)
        FAIL(INVALID, "\"%s\" must be an integer in [0, %llu]", key->name,
            (unsigned long long)key->most);
    *out = (uint64_t)number * (key->scale ? key->scale : 1);
    return NULL;
}

/* Reads one number, or [least, greatest]. */
static Error *read_range(const Key *key, json_object *value, ScenarioRange *out) {
    if (!json_object_is_type(value, json_type_array)) {
        TRY(read_number(key, value, &out->least));
        out->greatest = out->least;
        return NULL;
    }
    if (json_object_array_length(value) != 2)
        FAIL(INVALID, "\"%s\" must be a number or [least, greatest]", key->name);
    TRY(read_number(key, json_object_array_get_idx(value, 0), &out->least));
    TRY(read_number(key, json_object_array_get_idx(value, 1), &out->greatest));
    if (out->least > out->greatest) FAIL(INVALID, "\"%s\": least is above greatest", key->name);
    return NULL;
}

static Error *read_weights(const Key *key, json_object *value, ScenarioTenants *out) {
    size_t count =
        json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
    if (count < 1 || count > SCENARIO_GROUPS_MAX)
        FAIL(INVALID, "\"%s\" must be a list of 1 to %d numbers", key->name, SCENARIO_GROUPS_MAX);
    for (size_t i = 0; i < count; i++)
        TRY(read_number(key, json_object_array_get_idx(value, i), &out->weights[i]));
    out->weight_count = (uint32_t)count;
    return NULL;
}

/* Reads {"name": number, ...} with names from a list; each number goes to its name's place in the
 * list. */
static Error *read_named(
    const Key *key, json_object *value, const char *const *names, uint32_t count, uint64_t *out) {
    if (!json_object_is_type(value, json_type_object))
        FAIL(INVALID, "\"%s\" must be an object", key->name);
    json_object_object_foreach(value, name, number) {
        uint32_t i = 0;
        Key inner = {.name = name, .most = key->most ? key->most : INT64_MAX};
        while (i < count && strcmp(names[i], name) != 0) i++;
        if (i == count) FAIL(INVALID, "\"%s\": \"%s\" is unknown", key->name, name);
        TRY(read_number(&inner, number, &out[i]));
    }
    return NULL;
}

static Error *read_key(const Key *key, json_object *value, void *base) {
    void *at = (char *)base + key->offset;
    switch (key->kind) {
    case KEY_NUMBER:
        return read_number(key, value, at);
    case KEY_RANGE:
        return read_range(key, value, at);
    case KEY_WEIGHTS:
        return read_weights(key, value, base);
    case KEY_QUOTAS:
        return read_named(key, value, policy_quota_names, POLICY_QUOTA_COUNT, at);
    case KEY_CLASSES:
        memset(at, 0, sizeof(uint64_t) * POLICY_CLASS_COUNT);
        return read_named(key, value, policy_class_names, POLICY_CLASS_COUNT, at);
    }
    return NULL;
}

static Error *read_object(const Key *keys, json_object *object, void *base) {
    if (!json_object_is_type(object, json_type_object)) FAIL(INVALID, "must be an object");
    json_object_object_foreach(object, name, value) {
        const Key *key = keys;
        while (key->name && strcmp(key->name, name) != 0) key++;
        if (!key->name) FAIL(INVALID, "\"%s\" is unknown", name);
        TRY(read_key(key, value, base));
    }
    return NULL;
}

/* The groups of one kind: objects of the keys, into an array of elements that hold the defaults. */
static Error *read_groups(json_object *root, const char *name, const Key *keys, void *elements,
    size_t element_size, uint32_t *out_count) {
    json_object *list;
    if (!json_object_object_get_ex(root, name, &list) ||
        !json_object_is_type(list, json_type_array) || json_object_array_length(list) < 1 ||
        json_object_array_length(list) > SCENARIO_GROUPS_MAX)
        FAIL(INVALID, "\"%s\" must be a list of 1 to %d objects", name, SCENARIO_GROUPS_MAX);
    *out_count = (uint32_t)json_object_array_length(list);
    for (uint32_t i = 0; i < *out_count; i++)
        TRY_WRAP(read_object(
                     keys, json_object_array_get_idx(list, i), (char *)elements + i * element_size),
            "\"%s\"[%u]", name, i);
    json_object_object_del(root, name);
    return NULL;
}

void scenario_init(Scenario *out_scenario) {
    *out_scenario = (Scenario){.seed = 1,
        .config = {.kind = POLICY_EVENT_CONFIG,
            .quantum_ns = 10 * MILLISECOND_NS,
            .floor_permille = 50,
            .floor_window_ns = 10000 * MILLISECOND_NS,
            .swap_ns = 100 * MILLISECOND_NS,
            .host_bytes = (uint64_t)64 << 30}};
    for (int i = 0; i < SCENARIO_GROUPS_MAX; i++) {
        ScenarioTenants *tenants = &out_scenario->tenants[i];
        out_scenario->devices[i] = (ScenarioDevices){.count = 1,
            .memory_bytes = (uint64_t)16 << 30,
            .speed = 1,
            .kernel_ns = MILLISECOND_NS,
            .bytes_per_ms = 10000000};
        *tenants = (ScenarioTenants){.count = 1, .weights = {1}, .weight_count = 1};
        for (int k = 0; k < POLICY_QUOTA_COUNT; k++) tenants->limits[k] = POLICY_NO_LIMIT;
        out_scenario->models[i].count = 1;
        out_scenario->jobs[i] = (ScenarioJobs){.count = 1,
            .class_chances = {0, 1, 0},
            .device_us = {1000, 1000},
            .weight = {1, 1},
            .device = POLICY_NO_DEVICE};
    }
}

Error *scenario_check(Scenario *scenario) {
    scenario->device_count = scenario->tenant_count = 0;
    scenario->model_count = scenario->job_count = 0;
    for (uint32_t i = 0; i < scenario->device_groups; i++) {
        const ScenarioDevices *devices = &scenario->devices[i];
        scenario->device_count += devices->count;
        if (!devices->memory_bytes || !devices->speed || !devices->bytes_per_ms)
            FAIL(INVALID, "\"devices\"[%u]: memory, speed and bytes_per_ms must be above 0", i);
    }
    for (uint32_t i = 0; i < scenario->tenant_groups; i++) {
        scenario->tenant_count += scenario->tenants[i].count;
        for (uint32_t k = 0; k < scenario->tenants[i].weight_count; k++)
            if (!scenario->tenants[i].weights[k])
                FAIL(INVALID, "\"tenants\"[%u]: a weight is above 0", i);
    }
    for (uint32_t i = 0; i < scenario->model_groups; i++)
        scenario->model_count += scenario->models[i].count;
    for (uint32_t i = 0; i < scenario->job_groups; i++) {
        ScenarioJobs *jobs = &scenario->jobs[i];
        scenario->job_count += jobs->count;
        if (!jobs->tenant_count) jobs->tenant_count = scenario->tenant_count - jobs->tenant_first;
        if (!jobs->model_count) jobs->model_count = scenario->model_count - jobs->model_first;
        if (jobs->tenant_first >= scenario->tenant_count ||
            jobs->model_first >= scenario->model_count ||
            jobs->tenant_count > scenario->tenant_count - jobs->tenant_first ||
            jobs->model_count > scenario->model_count - jobs->model_first)
            FAIL(INVALID, "\"jobs\"[%u]: there are %llu tenants and %llu models", i,
                (unsigned long long)scenario->tenant_count,
                (unsigned long long)scenario->model_count);
        if (!jobs->device_us.least || !jobs->weight.least)
            FAIL(INVALID, "\"jobs\"[%u]: device_us and weight are above 0", i);
        if (!(jobs->class_chances[0] + jobs->class_chances[1] + jobs->class_chances[2]))
            FAIL(INVALID, "\"jobs\"[%u]: \"classes\" are all 0", i);
    }
    if (scenario->device_count > SCENARIO_DEVICES_MAX ||
        scenario->tenant_count > SCENARIO_TENANTS_MAX ||
        scenario->model_count > SCENARIO_MODELS_MAX || scenario->job_count > SCENARIO_JOBS_MAX)
        FAIL(INVALID, "too many devices, tenants, models or jobs");
    return policy_event_check(&scenario->config);
}

static Error *read_all(json_object *root, Scenario *scenario) {
    if (!json_object_is_type(root, json_type_object)) FAIL(INVALID, "must be an object");
    TRY(read_groups(root, "devices", device_keys, scenario->devices, sizeof(ScenarioDevices),
        &scenario->device_groups));
    TRY(read_groups(root, "tenants", tenant_keys, scenario->tenants, sizeof(ScenarioTenants),
        &scenario->tenant_groups));
    TRY(read_groups(root, "models", model_keys, scenario->models, sizeof(ScenarioModels),
        &scenario->model_groups));
    TRY(read_groups(
        root, "jobs", job_keys, scenario->jobs, sizeof(ScenarioJobs), &scenario->job_groups));
    TRY(read_object(scenario_keys, root, scenario));
    return scenario_check(scenario);
}

Error *scenario_parse(const char *text, Scenario *out_scenario) {
    enum json_tokener_error reason = json_tokener_success;
    json_tokener *tokener = json_tokener_new();
    if (!tokener) FAIL(OUT_OF_MEMORY, "no memory for JSON");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *root = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
    reason = json_tokener_get_error(tokener);
    size_t at = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    scenario_init(out_scenario);
    Error *error = reason != json_tokener_success
                       ? error_make(ERROR_INVALID, __FILE__, __LINE__, "JSON at byte %zu: %s", at,
                             json_tokener_error_desc(reason))
                       : read_all(root, out_scenario);
    json_object_put(root);
    return error;
}
