#pragma once
/* Thresholds that decide by speed which of several kernels computes a call on the cpu device: the
 * table cpu_rules.def. Read by the cpu's kernels when they plan and pack; the compiler's portable
 * device never reads them. Pure but for cpu_rules_force, for tools and tests. */
#include <stdbool.h>
#include <stdint.h>

struct Device;

typedef enum CpuRule {
#define CPU_RULES(version)
#define CPU_RULE(name, portable, avx2, avx512, unit, decides) CPU_RULE_##name,
#include "kernels/cpu/core/cpu_rules.def"
#undef CPU_RULES
#undef CPU_RULE
    CPU_RULE_COUNT
} CpuRule;

enum {
#define CPU_RULES(version) CPU_RULES_VERSION = version
#define CPU_RULE(name, portable, avx2, avx512, unit, decides)
#include "kernels/cpu/core/cpu_rules.def"
#undef CPU_RULES
#undef CPU_RULE
};

enum { CPU_RULE_LEVELS = 3 }; /* a column for each CpuLevel, in its order */

typedef struct CpuRuleInfo {
    const char *name, *unit, *decides;
    int64_t values[CPU_RULE_LEVELS];
} CpuRuleInfo;

/* A device's column. */
typedef struct CpuRules {
    int64_t values[CPU_RULE_COUNT];
    bool forced; /* differs from the table */
} CpuRules;

const CpuRuleInfo *cpu_rule_info(CpuRule rule);
/* The table's column; level: a CpuLevel. */
CpuRules cpu_rules_of(uint32_t level);
static inline int64_t cpu_rule(const CpuRules *rules, CpuRule rule) { return rules->values[rule]; }

/* For measuring and for tests alone: the column of a device, and another value of a rule from the
 * next plan on. The device's determinism class then includes the value, so that it equals no other
 * device's. */
uint32_t cpu_rules_get_level(const struct Device *device);
void cpu_rules_force(struct Device *device, CpuRule rule, int64_t value);
