#include "support/call_checked.h"

#include "support/amx_emulator.h"

#if defined(_WIN32)
#include <windows.h>
#endif

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <iterator>

extern "C" uint64_t tw_test_call(tw::test::Function function, const void* args, int has_avx);

namespace tw::test {
namespace {

// Bit i of the mask is name i; call_checked_*.S uses the same order.
#if defined(_WIN32)
const char* const names[] = {"rsp",   "rbx",   "rbp",   "r12",  "r13",   "r14",
                             "r15",   "rsi",   "rdi",   "DF",   "mxcsr", "x87 control",
                             "xmm6",  "xmm7",  "xmm8",  "xmm9", "xmm10", "xmm11",
                             "xmm12", "xmm13", "xmm14", "xmm15"};
int has_avx() {
  return 0;
}
#elif defined(__x86_64__)
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
                             "ymm upper halves",
                             "tiles, which it did not release"};
constexpr int tiles_bit = 11;
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

volatile sig_atomic_t calling = 0;
CallReport fault;

#if defined(_WIN32)
extern "C" void tw_test_fault();

/// Goes on behind the call.
LONG CALLBACK on_fault(EXCEPTION_POINTERS* its) {
  const EXCEPTION_RECORD& record = *its->ExceptionRecord;
  const bool memory = record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION;
  const bool instruction = record.ExceptionCode == EXCEPTION_ILLEGAL_INSTRUCTION;
  if (calling == 0 || !(memory || instruction)) return EXCEPTION_CONTINUE_SEARCH;
  fault.signal = memory ? SIGSEGV : SIGILL;
  fault.address =
      memory ? reinterpret_cast<void*>(record.ExceptionInformation[1]) : record.ExceptionAddress;
  its->ContextRecord->Rip = reinterpret_cast<DWORD64>(&tw_test_fault);
  return EXCEPTION_CONTINUE_EXECUTION;
}

void install_handlers() {
  static const void* const installed = AddVectoredExceptionHandler(1, on_fault);
  (void)installed;
}

uint64_t call(Function function, const void* args) {
  return tw_test_call(function, args, has_avx());
}
#else
sigjmp_buf back;

void on_fault(int signal_number, siginfo_t* info, void* context) {
  if (signal_number == SIGILL && emulate_tiles(context)) return;
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

/// Every call finds the stack pointer at another place of a cache line than the one before it.
uint64_t call_or_jump(Function function, const void* args) {
  static size_t calls = 0;
  void* const room = __builtin_alloca(16 * (calls++ % 4));
  __asm__ volatile("" ::"r"(room) : "memory");
  return sigsetjmp(back, 1) == 0 ? tw_test_call(function, args, has_avx()) : 0;
}

uint64_t call(Function function, const void* args) {
  (void)take_split_rows();
  const uint64_t clobbered = call_or_jump(function, args);
  fault.split_rows = take_split_rows();
#if defined(__x86_64__)
  if (release_tiles() && fault.signal == 0) return clobbered | uint64_t{1} << tiles_bit;
#endif
  return clobbered;
}
#endif

}  // namespace

CallReport call_checked(Function function, const void* args) {
  install_handlers();
  fault = {};
  calling = 1;
  const uint64_t clobbered = call(function, args);
  calling = 0;
  fault.clobbered = clobbered;
  return fault;
}

std::string fault_name(int signal) {
  return signal == SIGILL ? "illegal instruction" : "no access to memory";
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
#elif defined(_WIN32)
  return 0;
#else
  return 1U << 10;
#endif
}

}  // namespace tw::test
