#pragma once
/* The control thread's own life: the machine of control_life.def. For control.c, control_failure.c
 * and control_recovery.c, which take its steps; everybody else asks. On the control thread, and on
 * the thread that creates and releases the control while there is no other. */
#include "scheduler/control/machines/machine.h"

typedef enum ControlLifeState {
#define CONTROL_LIFE(state, decides, requests, commits, meaning) CONTROL_LIFE_##state,
#include "scheduler/control/machines/control_life.def"
    CONTROL_LIFE_STATE_COUNT
} ControlLifeState;

typedef enum ControlLifeEvent {
#define CONTROL_LIFE_EVENT(event, meaning) CONTROL_LIFE_EVENT_##event,
#include "scheduler/control/machines/control_life.def"
    CONTROL_LIFE_EVENT_COUNT
} ControlLifeEvent;

extern const Machine control_life_machine;

/* Zero: its first state. */
typedef struct ControlLife {
    uint8_t state; /* ControlLifeState; written by control_life_step alone */
} ControlLife;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *control_life_step(ControlLife *life, ControlLifeEvent event);

/* The policy's events are applied. */
bool control_life_decides(const ControlLife *life);
/* Requests are handled; else they are refused. */
bool control_life_takes_requests(const ControlLife *life);
/* New commits are begun. */
bool control_life_commits(const ControlLife *life);
/* The daemon is to stop: slices end, and what they made is stored. */
bool control_life_drains(const ControlLife *life);
/* The thread has nothing more to decide or to store. */
bool control_life_is_over(const ControlLife *life);
