/* void tw_test_streaming_call(function, args, state): offsets are StreamingState's. Newer instructions
 * stand as numbers: assemblers may not know them. */
#if defined(__aarch64__)
        .arch   armv8.2-a
        .text
        .globl  tw_test_streaming_call
        .type   tw_test_streaming_call, %function
        .balign 16
tw_test_streaming_call:
        hint    #34                   /* bti c */
        stp     x29, x30, [sp, #-128]!
        stp     x19, x20, [sp, #16]
        stp     d8, d9, [sp, #32]
        stp     d10, d11, [sp, #48]
        stp     d12, d13, [sp, #64]
        stp     d14, d15, [sp, #80]
        stp     x21, x1, [sp, #96]
        mov     x19, x0
        mov     x20, x2
        ldr     x9, [x20, #8]         /* a block: a dormant ZA that holds the pattern */
        cbz     x9, 3f
        .inst   0xd503457f            /* smstart za */
        ldr     x10, [x20, #16]
        .inst   0x04bf582d            /* rdsvl x13, #1 */
        mov     w12, #0
1:      cmp     w12, w13
        b.hs    2f
        .inst   0xe1000000 + (10 << 5) /* ldr za[w12, 0], [x10] */
        add     x10, x10, x13
        add     w12, w12, #1
        b       1b
2:      msr     S3_3_C13_C0_5, x9     /* TPIDR2_EL0 */
3:      ldr     x9, [x20]
        cbz     x9, 4f
        .inst   0xd503437f            /* smstart sm */
4:      .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
        ldr     x10, =0x6b6b6b00 + \n
        fmov    d\n, x10
        .endr
        mov     x10, #0x1f
        msr     fpsr, x10
        ldr     x0, [sp, #104]
        blr     x19
        mrs     x9, S3_3_C4_C2_2      /* SVCR */
        mrs     x10, S3_3_C13_C0_5
        stp     x9, x10, [x20, #24]
        mrs     x9, fpsr
        mov     x12, #0
        .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    x10, d\n
        ldr     x11, =0x6b6b6b00 + \n
        cmp     x10, x11
        cinc    x12, x12, ne
        .endr
        stp     x9, x12, [x20, #40]
        .inst   0xd503467f            /* smstop */
        msr     S3_3_C13_C0_5, xzr
        ldp     x19, x20, [sp, #16]
        ldp     d8, d9, [sp, #32]
        ldp     d10, d11, [sp, #48]
        ldp     d12, d13, [sp, #64]
        ldp     d14, d15, [sp, #80]
        ldr     x21, [sp, #96]
        ldp     x29, x30, [sp], #128
        ret
        .size   tw_test_streaming_call, .-tw_test_streaming_call
#endif
#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack,"",%progbits
#endif
