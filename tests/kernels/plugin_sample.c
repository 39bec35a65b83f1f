/* A plugin that has a kind, a version, a layout and nothing else; the build makes several of it. */
#include "kernels/plugin/device_layout.h"
#include "kernels/plugin/plugin.h"

#ifndef SAMPLE_VERSION
#define SAMPLE_VERSION DEVICE_ABI_VERSION
#endif
#ifndef SAMPLE_LAYOUT
#define SAMPLE_LAYOUT DEVICE_LAYOUT
#endif
#ifndef SAMPLE_KIND
#define SAMPLE_KIND "sample"
#endif

__attribute__((visibility("default"))) PluginEntry layover_device_plugin;

const DeviceClass *layover_device_plugin(void) {
    static const DeviceClass class_ = {
        .abi_version = SAMPLE_VERSION, .layout = SAMPLE_LAYOUT, .kind = SAMPLE_KIND};
    return &class_;
}
