/* Prints docs/machines.md: the machines that the control thread is made of, as the tables of
 * scheduler/control/machines say. */
#include <stdio.h>

#include "scheduler/control/machines/control_life.h"
#include "scheduler/control/machines/device_presence.h"
#include "scheduler/control/machines/job_durable.h"
#include "scheduler/control/machines/job_goal.h"
#include "scheduler/control/machines/job_site.h"
#include "scheduler/control/machines/job_storing.h"

static const Machine *const machines[] = {
#define MACHINE(name) &name##_machine,
#include "scheduler/control/machines/machines.def"
#undef MACHINE
};

static const char WORDS[] =
    "# The control thread's machines\n\n"
    "Made by `tools/print_machines` from `scheduler/control/machines/*.def`; edit those.\n\n"
    "Each machine is in one of its states, the first one of its table to begin with. An event in\n"
    "a state leads to one other state. Where a state has no step for an event, the two must not\n"
    "meet: the step function answers with an error that names machine, event and state.\n";

/* A text such as "owner | run" becomes two cells of a row. */
static void print_columns(const Machine *machine, const char *columns) {
    if (machine->columns[0]) printf(" %s |", columns);
}

static void print_states(const Machine *machine) {
    printf("\n| state |");
    print_columns(machine, machine->columns);
    printf(" what |\n| --- |");
    for (const char *c = machine->columns; *c; c++)
        if (c == machine->columns || *c == '|') printf(" --- |");
    printf(" --- |\n");
    for (uint8_t state = 0; state < machine->state_count; state++) {
        const MachineState *info = &machine->states[state];
        printf("| %s |", info->name);
        print_columns(machine, info->columns);
        printf(" %s |\n", info->meaning);
    }
}

static uint8_t next_of(const Machine *machine, uint8_t state, uint8_t event) {
    return (uint8_t)(machine->steps[(uint32_t)state * machine->event_count + event] - 1);
}

static void print_steps(const Machine *machine, uint8_t event) {
    bool first = true;
    for (uint8_t state = 0; state < machine->state_count; state++) {
        if (!machine_has_step(machine, state, event)) continue;
        const uint8_t next = next_of(machine, state, event);
        printf("%s%s", first ? "" : ", ", machine->states[state].name);
        if (next != state) printf(" → %s", machine->states[next].name);
        first = false;
    }
}

static void print_events(const Machine *machine) {
    printf("\n| event | what | steps; a state alone stays |\n| --- | --- | --- |\n");
    for (uint8_t event = 0; event < machine->event_count; event++) {
        printf("| %s | %s | ", machine->events[event].name, machine->events[event].meaning);
        print_steps(machine, event);
        printf(" |\n");
    }
}

int main(void) {
    (void)fputs(WORDS, stdout);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const Machine *machine = machines[i];
        printf("\n## %s\n\n%s `%s`\n\n```text\n%s```\n", machine->name, machine->meaning,
            machine->table, machine->picture);
        print_states(machine);
        print_events(machine);
    }
    return 0;
}
