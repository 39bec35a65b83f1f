#pragma once
/* Kinds of devices that are libraries of their own, liblayover-<kind>.so, opened when one is asked
 * for.
 *
 * A plugin exports one function, `const DeviceClass *layover_device_plugin(void)`, and brings its
 * own copy of base and kernels: it takes nothing from the program that opens it, which may be a
 * library that exports nothing. What crosses the border is what DEVICE_ABI_VERSION and
 * DEVICE_LAYOUT (device_layout.h) stand for, which both must have alike; memory is that of the one
 * C library.
 *
 * It is looked for in the folders of $LAYOVER_PLUGINS (separated by ':'), beside the program or
 * library that this is part of, and where plugins are installed. Threads: any. */
#include "kernels/device/device.h"

#define PLUGIN_SYMBOL "layover_device_plugin"
typedef const DeviceClass *PluginEntry(void);

/* The plugin's class. Stays as long as the process: libraries of drivers do not bear being closed.
 * Errors: UNSUPPORTED it is nowhere, is no plugin, or was built for another interface. */
MUST_CHECK Error *plugin_load(const char *kind, const DeviceClass **out);
