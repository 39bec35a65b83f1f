#pragma once
/* The options of the verbs that take inputs. Callers: run, submit, bench, register. */

#define INPUT_FORMS "FILE.npz|NAME=FILE.npy|NAME=V"
#define INPUT_HELP                                                                                 \
    "arrays named like the inputs (.npz, .safetensors, @FILE.json) or one each (.npy); V: "        \
    "1,2,3, [[JSON]], random, zeros, ones, an image"
#define INPUT_VALUE_OPTIONS                                                                        \
    {"dim", "NAME=N", true, "a free dimension of inputs given as V: by its name, or INPUT.AXIS"},  \
        {"seed", "N", false, "of NAME=random (default 0)"},                                        \
        {"scale", "A|A/B[,...]", false,                                                            \
            "of images: (sample - mean) * scale; one number or one for each channel (default 1)"}, \
    {                                                                                              \
        "mean", "M[,...]", false, "of images: likewise, in samples of 0 to 255 (default 0)"        \
    }
