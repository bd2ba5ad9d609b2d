// Records of fake kernels, as a tuning would have made them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/devices.h"
#include "tuner/choose.h"
#include "tuner/device_text.h"

namespace tw::tuner {

inline constexpr size_t kN = 2048;
inline constexpr size_t kK = 1024;

inline Wanted wanted(std::vector<Calls> mix) {
  Wanted w;
  w.family = test::kFamily;
  w.n = kN;
  w.k = kK;
  w.mix = std::move(mix);
  return w;
}

inline Configuration configuration(const std::string& name) {
  const tw_kernel& kernel = test::fake_kernel(name);
  Configuration run;
  run.kernel = name;
  run.hash = kernel.content_hash;
  run.isa = kernel.isa;
  run.layout = kernel.rhs->id;
  run.n_block = 256;
  run.m_block = 8;
  run.order = "columns";
  run.prefetch = 4096;
  return run;
}

/// On the first cluster of a machine.
struct Log {
  explicit Log(const tw_device& device) : core(core_of(device, 0)) {}
  Record blank(const std::string& kernel, size_t m) const {
    Record r;
    r.core = core;
    r.problem = {test::kFamily, kN, kK, 0, "", m};
    r.measured_n = kN;
    r.ran = configuration(kernel);
    r.ns = {1000, 990, 980, {}};
    return r;
  }
  void baseline(const std::string& kernel, size_t m, double ns = 1000) {
    Record r = blank(kernel, m);
    r.ns = {ns, ns, ns, {}};
    records.push_back(r);
  }
  Record& faster(const std::string& kernel, size_t m, double ratio, const std::string& than,
                 double width = 0.01) {
    Record r = blank(kernel, m);
    r.ratio = {ratio, ratio * (1 - width), ratio * (1 + width), 20};
    r.baseline = identity(configuration(than));
    records.push_back(r);
    return records.back();
  }
  Core core;
  std::vector<Record> records;
};

}  // namespace tw::tuner
