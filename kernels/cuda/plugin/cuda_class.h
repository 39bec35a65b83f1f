#pragma once
/* The cuda device as a table of functions, which the plugin exports. It joins the device with the
 * libraries and the kernel tables that serve it, all of which stand on cuda_device.h. */
#include "kernels/device/device.h"

extern const DeviceClass cuda_device_class;
