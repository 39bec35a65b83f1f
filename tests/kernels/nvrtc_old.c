/* An NVRTC from before what is needed of it. */
int nvrtcVersion(int *out_major, int *out_minor);

__attribute__((visibility("default"))) int nvrtcVersion(int *out_major, int *out_minor) {
    *out_major = *out_minor = 0;
    return 0;
}
