/* The function that liblayover-cuda.so exports. */
#include "kernels/cuda/plugin/cuda_class.h"
#include "kernels/plugin/plugin.h"

__attribute__((visibility("default"))) PluginEntry layover_device_plugin;

const DeviceClass *layover_device_plugin(void) { return &cuda_device_class; }
