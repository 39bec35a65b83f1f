#include "compiler/passes/probe_groups.h"

#include <string.h>

#include "base/allocator.h"

void probe_groups_deinit(ProbeGroups *groups) {
    memory_free(groups->items);
    memory_free(groups->table);
    *groups = (ProbeGroups){0};
}

static uint32_t *table_find(const ProbeGroups *groups, const ProbeGroup *pair) {
    uint64_t hash = 0;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        hash = (hash ^ (uint64_t)pair->before.sizes[w]) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (uint64_t)pair->other.sizes[w]) * UINT64_C(0xc2b2ae3d27d4eb4f);
    }
    size_t at = (hash >> 32) & (groups->table_size - 1);
    for (;; at = (at + 1) & (groups->table_size - 1)) {
        if (!groups->table[at]) break;
        const ProbeGroup *group = &groups->items[groups->table[at] - 1];
        if (memcmp(&group->before, &pair->before, sizeof pair->before) == 0 &&
            memcmp(&group->other, &pair->other, sizeof pair->other) == 0)
            break;
    }
    return &groups->table[at];
}

static Error *grow(ProbeGroups *groups) {
    if ((groups->count + 1) * 2 <= groups->table_size) return NULL;
    size_t size = groups->table_size ? groups->table_size * 2 : 16;
    void *table;
    TRY(memory_alloc(size, sizeof(uint32_t), &table));
    memory_free(groups->table);
    groups->table = table;
    groups->table_size = size;
    for (size_t i = 0; i < groups->count; i++)
        *table_find(groups, &groups->items[i]) = (uint32_t)i + 1;
    return NULL;
}

Error *probe_groups_find(
    ProbeGroups *groups, const ProbeGroup *pair, ProbeGroup **out_group, bool *out_found) {
    TRY(grow(groups));
    uint32_t *entry = table_find(groups, pair);
    *out_found = *entry != 0;
    if (*entry == 0) {
        void *items = groups->items;
        TRY(memory_grow(&items, groups->count, &groups->capacity, sizeof(ProbeGroup)));
        groups->items = items;
        groups->items[groups->count] = *pair;
        *entry = (uint32_t)++groups->count;
    }
    *out_group = &groups->items[*entry - 1];
    return NULL;
}

bool probe_groups_has_kept(const ProbeGroups *groups, const ProbeSymbol *before) {
    for (size_t i = 0; i < groups->count; i++)
        if (memcmp(&groups->items[i].before, before, sizeof *before) == 0 &&
            memcmp(&groups->items[i].after, before, sizeof *before) == 0)
            return true;
    return false;
}
