#pragma once
/* A state machine whose steps are rows of a table: a state and an event lead to one state, or there
 * is no step and the pair must not occur. Each machine of this folder is a .def (picture, states,
 * events, steps), a header with its enums and questions, and a .c whose step function is the only
 * writer of a state. Called by the control thread's files on the control thread; machine.[ch] also
 * by tools/print_machines.c and the tests. Nothing here has state of its own. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct MachineState {
    const char *name;    /* as in the .def */
    const char *columns; /* its values of Machine.columns, separated alike */
    const char *meaning;
} MachineState;

typedef struct MachineEvent {
    const char *name;
    const char *meaning;
} MachineEvent;

typedef struct Machine {
    const char *name;    /* as in errors: "job site" */
    const char *table;   /* the .def's file name */
    const char *meaning; /* one sentence */
    const char *picture; /* lines, each with its line end */
    const char *columns; /* what the .def says of a state beside its meaning: "owner | run"; "" */
    const MachineState *states; /* the first one is where it begins */
    const MachineEvent *events;
    uint8_t state_count, event_count;
    const uint8_t *steps; /* [state * event_count + event]: 1 + the next state; 0: no step */
} Machine;

bool machine_has_step(const Machine *machine, uint8_t state, uint8_t event);
/* Takes the step. Errors: INTERNAL there is none; the error names machine, event and state, and
 * *inout_state stays as it is. */
MUST_CHECK Error *machine_step(const Machine *machine, uint8_t event, uint8_t *inout_state);
