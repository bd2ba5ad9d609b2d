/* uint64_t tw_test_call(function, args, has_avx): bits as in call_checked.cpp. */
#if defined(__x86_64__) && !defined(_WIN32)
        .intel_syntax noprefix
        .bss
        .balign 8
saved_rsp: .skip 8                   /* one call at a time */

        .macro pattern reg, value
        movabs  \reg, \value
        .endm
        .macro check reg, value, bit
        movabs  rdx, \value
        cmp     \reg, rdx
        je      .Lsame\@
        or      eax, 1 << \bit
.Lsame\@:
        .endm
        .macro or_upper n
        vextractf128 xmmword ptr [rsp + 32], ymm\n, 1
        or      rdx, qword ptr [rsp + 32]
        or      rdx, qword ptr [rsp + 40]
        .endm

        .text
        .globl  tw_test_call
        .type   tw_test_call, @function
        .balign 16
tw_test_call:
        endbr64
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        sub     rsp, 56
        stmxcsr dword ptr [rsp]
        fnstcw  word ptr [rsp + 4]
        mov     qword ptr [rsp + 8], rdx
        mov     qword ptr [rip + saved_rsp], rsp
        mov     rax, rdi
        mov     rdi, rsi
        test    edx, edx
        jz      .Lno_avx
        vzeroupper
.Lno_avx:
        pattern rbx, 0x1b1b1b1b1b1b1b1b
        pattern rbp, 0x2b2b2b2b2b2b2b2b
        pattern r12, 0x3c3c3c3c3c3c3c3c
        pattern r13, 0x4d4d4d4d4d4d4d4d
        pattern r14, 0x5e5e5e5e5e5e5e5e
        pattern r15, 0x6f6f6f6f6f6f6f6f
        call    rax
        xor     eax, eax
        mov     rcx, qword ptr [rip + saved_rsp]
        cmp     rsp, rcx
        je      .Lsame_rsp
        or      eax, 1
        mov     rsp, rcx
.Lsame_rsp:
        check   rbx, 0x1b1b1b1b1b1b1b1b, 1
        check   rbp, 0x2b2b2b2b2b2b2b2b, 2
        check   r12, 0x3c3c3c3c3c3c3c3c, 3
        check   r13, 0x4d4d4d4d4d4d4d4d, 4
        check   r14, 0x5e5e5e5e5e5e5e5e, 5
        check   r15, 0x6f6f6f6f6f6f6f6f, 6
        pushfq
        pop     rdx
        test    edx, 0x400
        jz      .Lsame_direction
        or      eax, 1 << 7
        cld
.Lsame_direction:
        stmxcsr dword ptr [rsp + 16]
        mov     edx, dword ptr [rsp + 16]
        xor     edx, dword ptr [rsp]
        test    edx, 0xffc0           /* control bits; the low six are status */
        jz      .Lsame_mxcsr
        or      eax, 1 << 8
        ldmxcsr dword ptr [rsp]
.Lsame_mxcsr:
        fnstcw  word ptr [rsp + 16]
        mov     dx, word ptr [rsp + 16]
        cmp     dx, word ptr [rsp + 4]
        je      .Lsame_x87
        or      eax, 1 << 9
        fldcw   word ptr [rsp + 4]
.Lsame_x87:
        cmp     dword ptr [rsp + 8], 0
        je      .Lclean
        xor     edx, edx
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        or_upper \n
        .endr
        vzeroupper
        test    rdx, rdx
        jz      .Lclean
        or      eax, 1 << 10
.Lclean:
        add     rsp, 56
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret
        .size   tw_test_call, . - tw_test_call
        .att_syntax prefix
#endif
#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
