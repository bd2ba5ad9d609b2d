// A module for Linux on a CPU that has tiles without XFD, as Bochs interprets one: Linux leaves
// them off there. This switches them on and grants them to whoever asks. They are not saved where
// threads change: on such a CPU one program at a time may use them.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/smp.h>

static const unsigned long request_permission = 0x1023; /* of arch_prctl() */

static int remember_request(struct kretprobe_instance* call, struct pt_regs* registers) {
  const struct pt_regs* arguments = (const void*)registers->di;
  *(unsigned long*)call->data = arguments->di;
  return 0;
}

static int grant(struct kretprobe_instance* call, struct pt_regs* registers) {
  if (*(unsigned long*)call->data == request_permission) registers->ax = 0;
  return 0;
}

static struct kretprobe arch_prctl = {
    .kp.symbol_name = "__x64_sys_arch_prctl",
    .entry_handler = remember_request,
    .handler = grant,
    .data_size = sizeof(unsigned long),
    .maxactive = 16,
};

static void switch_on(void* unused) {
  const u32 tiles = 3u << 17; /* of XCR0: shapes and contents */
  u32 low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  asm volatile("xsetbv" : : "a"(low | tiles), "d"(high), "c"(0));
}

static int __init start(void) {
  const int error = register_kretprobe(&arch_prctl);
  if (error == 0) on_each_cpu(switch_on, NULL, 1);
  return error;
}

module_init(start);
MODULE_DESCRIPTION("Tiles on CPUs without XFD");
MODULE_LICENSE("Dual MIT/GPL");
