// Five kernels that run everywhere: one as it ships, the others made of it. A tuner with these rows
// must go on, say what is wrong with which, and choose the first.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "tilewright/registry.h"

extern "C" {
extern const tw_kernel base_kernels[];
extern const size_t base_kernel_count;
extern const tw_packer base_packers[];
extern const size_t base_packer_count;
}

namespace {

using Clock = std::chrono::steady_clock;

const tw_kernel& base() {
  const tw_kernel* end = base_kernels + base_kernel_count;
  return *std::find_if(base_kernels, end, [](const tw_kernel& k) {
    return std::strcmp(k.isa, "scalar") == 0 &&
           std::strcmp(k.family, "matmul_clamp_f32_qai8dxp_qsi4cxp") == 0;
  });
}

void run_delayed(const tw_args* args) {
  const auto start = Clock::now();
  base().run(args);
  const auto end = Clock::now() + (Clock::now() - start) / 20;  // 5 % more
  while (Clock::now() < end) {
  }
}

void run_crashing(const tw_args*) {
  std::raise(SIGILL);
}

void run_hanging(const tw_args*) {
  for (;;) std::this_thread::yield();
}

void run_wrong(const tw_args* args) {
  base().run(args);
  if (args->m > 0 && args->n > 0) *static_cast<float*>(args->dst) += 1;
}

tw_kernel row(const char* name, tw_kernel_fn run, uint64_t number) {
  tw_kernel made = base();
  made.name = name;
  if (run != nullptr) made.run = run;
  made.content_hash += number;
  return made;
}

}  // namespace

extern "C" {
extern const tw_kernel tw_generated_kernels[] = {
    row("as_it_ships", nullptr, 0), row("delayed", run_delayed, 1),
    row("crashing", run_crashing, 2), row("hanging", run_hanging, 3), row("wrong", run_wrong, 4)};
extern const size_t tw_generated_kernel_count = 5;
// All packers, in the place where they are: rows of packers need no copy.
extern const tw_packer tw_generated_packers[] = {
    *std::find_if(base_packers, base_packers + base_packer_count,
                  [](const tw_packer& p) { return p.layout->id == base().lhs->id; }),
    *std::find_if(base_packers, base_packers + base_packer_count, [](const tw_packer& p) {
      return p.layout->id == base().rhs->id && std::strcmp(p.source, "nxk") == 0;
    })};
extern const size_t tw_generated_packer_count = 2;
}
