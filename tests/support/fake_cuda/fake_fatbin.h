#pragma once
/* What stands for the kernels' image in a plugin for the fake driver. */
#define FAKE_FATBIN_IMAGE "kernels for the fake driver"
