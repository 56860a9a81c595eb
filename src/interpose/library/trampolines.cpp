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
#else
#error "libcarpool_cuda.so has trampolines for x86-64 only"
#endif

// NOLINTEND
}  // namespace carpool::interpose
