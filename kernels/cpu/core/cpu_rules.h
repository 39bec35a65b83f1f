#pragma once
/* Thresholds that decide by speed which of several kernels computes a call on the cpu device: the
 * table cpu_rules.def. Read by the cpu's kernels when they plan and pack; the compiler's portable
 * device never reads them. cpu_device_force_rule changes a value of one device. Pure. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/core/cpu_level.h"

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

typedef struct CpuRuleInfo {
    const char *name, *unit, *decides;
    int64_t values[CPU_LEVEL_COUNT]; /* a column for each CpuLevel */
} CpuRuleInfo;

/* A device's column. */
typedef struct CpuRules {
    int64_t values[CPU_RULE_COUNT];
    bool forced; /* differs from the table */
} CpuRules;

const CpuRuleInfo *cpu_rule_info(CpuRule rule);
/* The table's column of the level. */
CpuRules cpu_rules_of(CpuLevel level);
static inline int64_t cpu_rule(const CpuRules *rules, CpuRule rule) { return rules->values[rule]; }
