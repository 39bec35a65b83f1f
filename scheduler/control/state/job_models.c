#include "scheduler/control/state/job_models.h"

#include <string.h>

#include "base/allocator.h"

void job_models_deinit(JobModels *models) {
    for (size_t i = 0; i < models->map.capacity; i++) memory_free(models->map.slots[i]);
    id_map_deinit(&models->map);
}

uint64_t control_model_number(const Control *control, TenantId tenant, const Digest *identity) {
    uint64_t number;
    memcpy(&number, identity->bytes, sizeof number);
    return control->options.isolate ? number ^ digest_xxh3(&tenant, sizeof tenant) : number;
}

ControlModel *control_find_model(const Control *control, uint64_t number) {
    return id_map_find(&control->models->map, 0, number);
}

static Error *add_model(Control *control, const ControlModel *facts, ControlModel **out_model) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlModel), &memory));
    ControlModel *model = memory;
    *model = *facts;
    Error *error = id_map_add(&control->models->map, &model->key);
    if (error)
        memory_free(model);
    else
        *out_model = model;
    return error;
}

Error *control_use_model(Control *control, const ControlModel *facts, ControlModel **out_model) {
    ControlModel *model = control_find_model(control, facts->key.low);
    if (!model) TRY(add_model(control, facts, &model));
    model->tenant = facts->tenant; /* the newest user surely has it */
    model->job_count++;
    *out_model = model;
    return NULL;
}
