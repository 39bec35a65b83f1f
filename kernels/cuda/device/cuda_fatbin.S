/* The module of all kernels, for every architecture: layover_cuda_fatbin up to layover_cuda_fatbin_end. */
    .section .rodata
    .balign 64
    .global layover_cuda_fatbin
    .hidden layover_cuda_fatbin
layover_cuda_fatbin:
    .incbin FATBIN
    .global layover_cuda_fatbin_end
    .hidden layover_cuda_fatbin_end
layover_cuda_fatbin_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
