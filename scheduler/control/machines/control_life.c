#include "scheduler/control/machines/control_life.h"

static const MachineState states[] = {
#define CONTROL_LIFE(state, decides, requests, commits, meaning)                                   \
    {#state, #decides " | " #requests " | " #commits, meaning},
#include "scheduler/control/machines/control_life.def"
};

static const MachineEvent events[] = {
#define CONTROL_LIFE_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/control_life.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[CONTROL_LIFE_STATE_COUNT][CONTROL_LIFE_EVENT_COUNT] = {
#define CONTROL_LIFE_STEP(from, event, to)                                                         \
    [CONTROL_LIFE_##from][CONTROL_LIFE_EVENT_##event] = 1 + CONTROL_LIFE_##to,
#include "scheduler/control/machines/control_life.def"
};

const Machine control_life_machine = {
    .name = "control life",
    .table = "control_life.def",
    .meaning = "The control thread's own life.",
#define CONTROL_LIFE_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/control_life.def"
        ,
    .columns = "decides | requests | commits",
    .states = states,
    .events = events,
    .state_count = CONTROL_LIFE_STATE_COUNT,
    .event_count = CONTROL_LIFE_EVENT_COUNT,
    .steps = &steps[0][0],
};

static const struct {
    bool decides, requests, commits;
} columns[] = {
#define CONTROL_LIFE(state, decides, requests, commits, meaning) {decides, requests, commits},
#include "scheduler/control/machines/control_life.def"
};

Error *control_life_step(ControlLife *life, ControlLifeEvent event) {
    return machine_step(&control_life_machine, (uint8_t)event, &life->state);
}

bool control_life_decides(const ControlLife *life) { return columns[life->state].decides; }

bool control_life_takes_requests(const ControlLife *life) { return columns[life->state].requests; }

bool control_life_commits(const ControlLife *life) { return columns[life->state].commits; }

bool control_life_drains(const ControlLife *life) {
    return life->state == CONTROL_LIFE_DRAINING || life->state == CONTROL_LIFE_DRAINED;
}

bool control_life_is_over(const ControlLife *life) {
    return life->state == CONTROL_LIFE_FAILED || life->state == CONTROL_LIFE_ENDING;
}
