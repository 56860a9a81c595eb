// One exported function for each name of the driver API that has no wrapper: a jump through its
// slot, which needs no signature. A slot first leads to a resolver, which asks the real driver for
// the function, stores it and continues there with all arguments in place. The functions are weak:
// a wrapper of the same name replaces its trampoline when the library is linked.
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {
// NOLINTBEGIN: assembly

#if defined(__x86_64__)
// Slot N is at carpool_driver_slots + 8 N. %r11 is free for a callee to use; the resolver keeps
// every register that may hold an argument.
__asm__(R"(
  .text
  .hidden carpool_driver_slots
  .hidden carpool_resolve_symbol
  .type carpool_resolve_and_jump, @function
carpool_resolve_and_jump:
  .cfi_startproc
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %rax
  .cfi_adjust_cfa_offset 56
  sub $128, %rsp
  .cfi_adjust_cfa_offset 128
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  mov %r11d, %edi
  call carpool_resolve_symbol
  mov %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  add $128, %rsp
  .cfi_adjust_cfa_offset -128
  pop %rax
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  .cfi_adjust_cfa_offset -56
  jmp *%r11
  .cfi_endproc
  .size carpool_resolve_and_jump, .-carpool_resolve_and_jump

  .macro driver_symbol name
  .text
  .balign 16
  .weak \name
  .type \name, @function
\name:
  endbr64
  jmp *carpool_driver_slots + 8 * symbol_number(%rip)
  .size \name, .-\name
1:
  endbr64
  mov $symbol_number, %r11d
  jmp carpool_resolve_and_jump
  .section .data.rel.local, "aw"
  .quad 1b
  .set symbol_number, symbol_number + 1
  .endm

  .set symbol_number, 0
  .section .data.rel.local, "aw"
  .balign 8
  .globl carpool_driver_slots
  .type carpool_driver_slots, @object
carpool_driver_slots:
)"
#define DRIVER_SYMBOL(NAME) "  driver_symbol " #NAME "\n"
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
        "  .section .data.rel.local, \"aw\"\n"
        "  .size carpool_driver_slots, .-carpool_driver_slots\n"
        "  .text\n");
#elif defined(__aarch64__)
// The same with x16 and x17, which are free for code between a caller and its callee. "hint #34" is
// "bti c": an indirect jump may arrive here.
__asm__(R"(
  .text
  .hidden carpool_driver_slots
  .hidden carpool_resolve_symbol
  .type carpool_resolve_and_jump, %function
carpool_resolve_and_jump:
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset 29, -224
  .cfi_offset 30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov w0, w17
  bl carpool_resolve_symbol
  mov x16, x0
  ldp q6, q7, [sp, #192]
  ldp q4, q5, [sp, #160]
  ldp q2, q3, [sp, #128]
  ldp q0, q1, [sp, #96]
  ldr x8, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #224
  .cfi_restore 30
  .cfi_restore 29
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size carpool_resolve_and_jump, .-carpool_resolve_and_jump

  .macro driver_symbol name
  .text
  .balign 16
  .weak \name
  .type \name, %function
\name:
  hint #34
  adrp x16, carpool_driver_slots + 8 * symbol_number
  ldr x16, [x16, :lo12:carpool_driver_slots + 8 * symbol_number]
  br x16
  .size \name, .-\name
1:
  hint #34
  mov w17, #symbol_number
  b carpool_resolve_and_jump
  .section .data.rel.local, "aw"
  .xword 1b
  .set symbol_number, symbol_number + 1
  .endm

  .set symbol_number, 0
  .section .data.rel.local, "aw"
  .balign 8
  .globl carpool_driver_slots
  .type carpool_driver_slots, %object
carpool_driver_slots:
)"
#define DRIVER_SYMBOL(NAME) "  driver_symbol " #NAME "\n"
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
        "  .section .data.rel.local, \"aw\"\n"
        "  .size carpool_driver_slots, .-carpool_driver_slots\n"
        "  .text\n");
#else
#error "libcarpool_cuda.so has trampolines for x86-64 and AArch64"
#endif

// NOLINTEND
}  // namespace carpool::interpose
