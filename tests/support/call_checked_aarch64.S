/* uint64_t tw_test_call(function, args, has_avx): bits as in call_checked.cpp. */
#if defined(__aarch64__)
        .bss
        .balign 8
saved_sp: .skip 8                    /* one call at a time */

        .macro check reg, bit, value
        ldr     x10, =\value
        cmp     \reg, x10
        cset    x11, ne
        orr     x0, x0, x11, lsl #\bit
        .endm

        .text
        .globl  tw_test_call
        .type   tw_test_call, %function
        .balign 16
tw_test_call:
        hint    #34                   /* bti c */
        stp     x29, x30, [sp, #-176]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x10, fpcr
        stp     x10, x18, [sp, #160]
        adrp    x9, saved_sp
        mov     x10, sp
        str     x10, [x9, #:lo12:saved_sp]
        mov     x9, x0
        mov     x0, x1
        .irp    n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        ldr     x\n, =0x5a5a5a00 + \n
        .endr
        .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
        ldr     x10, =0x6b6b6b00 + \n
        fmov    d\n, x10
        .endr
        blr     x9
        mov     x0, #0
        adrp    x9, saved_sp
        ldr     x9, [x9, #:lo12:saved_sp]
        mov     x10, sp
        cmp     x10, x9
        cset    x11, ne
        orr     x0, x0, x11
        mov     sp, x9
        .irp    n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        check   x\n, \n - 17, 0x5a5a5a00 + \n
        .endr
        .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    x12, d\n
        check   x12, \n + 5, 0x6b6b6b00 + \n
        .endr
        mrs     x10, fpcr
        ldp     x11, x18, [sp, #160]
        cmp     x10, x11
        cset    x10, ne
        orr     x0, x0, x10, lsl #21
        msr     fpcr, x11
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #176
        ret
        .ltorg
        .size   tw_test_call, . - tw_test_call
#endif
#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
