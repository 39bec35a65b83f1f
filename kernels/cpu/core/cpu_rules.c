#include "kernels/cpu/core/cpu_rules.h"

#include <assert.h>

static const CpuRuleInfo infos[] = {
#define CPU_RULES(version)
#define CPU_RULE(name, portable, avx2, avx512, unit, decides)                                      \
    {#name, unit, decides, {portable, avx2, avx512}},
#include "kernels/cpu/core/cpu_rules.def"
#undef CPU_RULES
#undef CPU_RULE
};

const CpuRuleInfo *cpu_rule_info(CpuRule rule) { return &infos[rule]; }

CpuRules cpu_rules_of(CpuLevel level) {
    CpuRules rules = {.forced = false};
    assert(level < CPU_LEVEL_COUNT);
    for (int i = 0; i < CPU_RULE_COUNT; i++) rules.values[i] = infos[i].values[level];
    return rules;
}
