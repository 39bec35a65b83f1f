#pragma once
/* The cuda device as a table of functions, which the plugin exports (cuda_plugin.c). It joins the
 * device with the libraries and the kernel tables that it uses, all of which stand on
 * cuda_device.h. A constant; its functions run on any thread. */
#include "kernels/device/device.h"

extern const DeviceClass cuda_device_class;
