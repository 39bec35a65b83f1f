#pragma once
/* Loads kinds of devices that are libraries of their own, liblayover-<kind>.so, when one is asked
 * for. Called by device_registry.c.
 *
 * A plugin exports one function, `const DeviceClass *layover_device_plugin(void)`, and has its own
 * copy of base and kernels: it takes no symbol from the program that opens it, which may be a
 * library that exports none. The objects that cross the border are those that DEVICE_ABI_VERSION
 * and DEVICE_LAYOUT (device_layout.h) cover, which must be equal on both sides; memory comes from
 * the one C library.
 *
 * A plugin is searched in the folders of $LAYOVER_PLUGINS (separated by ':'), beside the program or
 * library that this is part of, and where plugins are installed. Threads: any. */
#include "kernels/device/device.h"

#define PLUGIN_SYMBOL "layover_device_plugin"
typedef const DeviceClass *PluginEntry(void);

/* The plugin's class. It stays loaded as long as the process, since libraries of drivers cannot be
 * closed safely. Errors: UNSUPPORTED there is no such library, it is no plugin, or it was built for
 * another interface. */
MUST_CHECK Error *plugin_load(const char *kind, const DeviceClass **out);
