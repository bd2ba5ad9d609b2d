#include "support/call_checked.h"

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <iterator>

extern "C" uint64_t tw_test_call(tw::test::Function function, const void* args, int has_avx);

namespace tw::test {
namespace {

// Bit i of the mask is name i; call_checked_*.S uses the same order.
#if defined(__x86_64__)
const char* const names[] = {"rsp",
                             "rbx",
                             "rbp",
                             "r12",
                             "r13",
                             "r14",
                             "r15",
                             "DF",
                             "mxcsr",
                             "x87 control",
                             "ymm upper halves"};
int has_avx() {
  return __builtin_cpu_supports("avx") != 0;
}
#elif defined(__aarch64__)
const char* const names[] = {"sp",  "x18", "x19", "x20", "x21", "x22", "x23", "x24",
                             "x25", "x26", "x27", "x28", "x29", "d8",  "d9",  "d10",
                             "d11", "d12", "d13", "d14", "d15", "fpcr"};
int has_avx() {
  return 0;
}
#else
#error "call_checked knows x86-64 and AArch64"
#endif

sigjmp_buf back;
volatile sig_atomic_t calling = 0;
CallReport fault;

void on_fault(int signal_number, siginfo_t* info, void* /*context*/) {
  if (calling == 0) {  // not ours: fault again, and die of it
    std::signal(signal_number, SIG_DFL);
    return;
  }
  fault.signal = signal_number;
  fault.address = info->si_addr;
  siglongjmp(back, 1);
}

void install_handlers() {
  static bool installed = false;
  if (installed) return;
  installed = true;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  for (int signal_number : {SIGSEGV, SIGBUS, SIGILL}) sigaction(signal_number, &action, nullptr);
}

}  // namespace

CallReport call_checked(Function function, const void* args) {
  install_handlers();
  fault = {};
  if (sigsetjmp(back, 1) == 0) {
    calling = 1;
    fault.clobbered = tw_test_call(function, args, has_avx());
  }
  calling = 0;
  return fault;
}

std::string register_names(uint64_t clobbered) {
  std::string text;
  for (size_t i = 0; i < std::size(names); ++i) {
    if ((clobbered >> i & 1) == 0) continue;
    if (!text.empty()) text += ' ';
    text += names[i];
  }
  return text;
}

uint64_t compilers_choice() {
#if defined(__aarch64__)
  return 1U << 1;
#else
  return 1U << 10;
#endif
}

}  // namespace tw::test
