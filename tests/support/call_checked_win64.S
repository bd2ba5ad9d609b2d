/* The same under Windows' calling convention, and where a fault goes on: tw_test_fault. */
#if defined(__x86_64__) && defined(_WIN32)
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
        .macro fill_vector n
        movabs  r9, 0x6b6b6b6b6b6b6b00 + \n
        movq    xmm\n, r9
        punpcklqdq xmm\n, xmm\n
        .endm
        .macro check_vector n
        movabs  r9, 0x6b6b6b6b6b6b6b00 + \n
        movups  xmmword ptr [rsp + 16], xmm\n
        cmp     qword ptr [rsp + 16], r9
        jne     .Lother\@
        cmp     qword ptr [rsp + 24], r9
        je      .Lsame\@
.Lother\@:
        or      eax, 1 << (\n + 6)
.Lsame\@:
        .endm

        .text
        .globl  tw_test_call
        .globl  tw_test_fault
        .def    tw_test_call
        .scl    2
        .type   32
        .endef
        .balign 16
tw_test_call:
        push    rbx
        push    rbp
        push    rsi
        push    rdi
        push    r12
        push    r13
        push    r14
        push    r15
        sub     rsp, 216
        stmxcsr dword ptr [rsp + 32]
        fnstcw  word ptr [rsp + 36]
        .irp    n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movups  xmmword ptr [rsp + 48 + 16 * (\n - 6)], xmm\n
        .endr
        mov     qword ptr [rip + saved_rsp], rsp
        mov     rax, rcx
        mov     rcx, rdx
        pattern rbx, 0x1b1b1b1b1b1b1b1b
        pattern rbp, 0x2b2b2b2b2b2b2b2b
        pattern r12, 0x3c3c3c3c3c3c3c3c
        pattern r13, 0x4d4d4d4d4d4d4d4d
        pattern r14, 0x5e5e5e5e5e5e5e5e
        pattern r15, 0x6f6f6f6f6f6f6f6f
        pattern rsi, 0x7a7a7a7a7a7a7a7a
        pattern rdi, 0x8a8a8a8a8a8a8a8a
        .irp    n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        fill_vector \n
        .endr
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
        check   rsi, 0x7a7a7a7a7a7a7a7a, 7
        check   rdi, 0x8a8a8a8a8a8a8a8a, 8
        pushfq
        pop     rdx
        test    edx, 0x400
        jz      .Lsame_direction
        or      eax, 1 << 9
        cld
.Lsame_direction:
        stmxcsr dword ptr [rsp + 16]
        mov     edx, dword ptr [rsp + 16]
        xor     edx, dword ptr [rsp + 32]
        test    edx, 0xffc0           /* control bits; the low six are status */
        jz      .Lsame_mxcsr
        or      eax, 1 << 10
.Lsame_mxcsr:
        fnstcw  word ptr [rsp + 16]
        mov     dx, word ptr [rsp + 16]
        cmp     dx, word ptr [rsp + 36]
        je      .Lsame_x87
        or      eax, 1 << 11
.Lsame_x87:
        .irp    n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        check_vector \n
        .endr
.Lrestore:
        ldmxcsr dword ptr [rsp + 32]
        fldcw   word ptr [rsp + 36]
        .irp    n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movups  xmm\n, xmmword ptr [rsp + 48 + 16 * (\n - 6)]
        .endr
        add     rsp, 216
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rdi
        pop     rsi
        pop     rbp
        pop     rbx
        ret
tw_test_fault:                       /* from anywhere inside of the call */
        mov     rsp, qword ptr [rip + saved_rsp]
        xor     eax, eax
        cld
        jmp     .Lrestore
        .att_syntax prefix
#endif
#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
