#pragma once
/* The models that jobs in memory use, by the number under which the policy knows a model. Jobs take
 * their model when they come; whoever moves, explains or counts a job reads it. On the control
 * thread. */
#include "scheduler/control/state/control_state.h"
#include "scheduler/policy/id_map.h"

/* The jobs that use the same weights; where tenants are isolated, the jobs of one tenant. */
typedef struct ControlModel {
    IdKey key; /* control_model_number */
    Digest identity;
    TenantId tenant; /* one that has it */
    uint64_t constant_bytes;
    uint64_t loaded_ns[CONTROL_DEVICES_MAX]; /* when a device last loaded its weights; 0: never */
    bool device_strings;                     /* of the executable */
    size_t job_count;
} ControlModel;

/* For job_models.c alone. */
typedef struct JobModels {
    IdMap map;
} JobModels;

void job_models_deinit(JobModels *models);

/* The policy's number of a model: one for all tenants, unless tenants are isolated. */
uint64_t control_model_number(const Control *control, TenantId tenant, const Digest *identity);
/* NULL: no job in memory has used a model of that number. */
ControlModel *control_find_model(const Control *control, uint64_t number);
/* Finds or adds the model and counts one more job of it. facts: used where the model is added, but
 * for tenant, which is the newest user. */
MUST_CHECK Error *control_use_model(
    Control *control, const ControlModel *facts, ControlModel **out_model);
