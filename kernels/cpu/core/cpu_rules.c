#include "kernels/cpu/core/cpu_rules.h"

#include <assert.h>

#include "kernels/cpu/core/cpu_internal.h"

static const CpuRuleInfo infos[] = {
#define CPU_RULES(version)
#define CPU_RULE(name, portable, avx2, avx512, unit, decides)                                      \
    {#name, unit, decides, {portable, avx2, avx512}},
#include "kernels/cpu/core/cpu_rules.def"
#undef CPU_RULES
#undef CPU_RULE
};

const CpuRuleInfo *cpu_rule_info(CpuRule rule) { return &infos[rule]; }

_Static_assert((int)CPU_LEVEL_AVX512 + 1 == (int)CPU_RULE_LEVELS, "a column for each level");

CpuRules cpu_rules_of(uint32_t level) {
    CpuRules rules = {.forced = false};
    assert(level < CPU_RULE_LEVELS);
    for (int i = 0; i < CPU_RULE_COUNT; i++) rules.values[i] = infos[i].values[level];
    return rules;
}

uint32_t cpu_rules_get_level(const Device *device) {
    return (uint32_t)((const CpuDevice *)device)->level;
}

void cpu_rules_force(Device *device, CpuRule rule, int64_t value) {
    CpuRules *rules = &cpu_device(device)->rules;
    rules->values[rule] = value;
    rules->forced = true;
}
