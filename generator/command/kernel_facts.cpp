#include "command/kernel_facts.h"

#include <memory>

#include "emit/explain.h"
#include "pipeline/kernel_names.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"

namespace tw {
namespace {

class Kernels {
 public:
  Kernels(std::vector<SpecInput> specs, const std::filesystem::path& templates)
      : specs_(std::move(specs)), templates_(templates), isas_(templates) {}

  std::optional<tuner::KernelFacts> facts(const std::string& kernel, const tuner::Core& core) {
    if (variants_.empty()) read();
    const auto found = by_name_.find(kernel);
    if (found == by_name_.end()) return std::nullopt;
    const Variant& variant = *found->second;
    const VectorLength vectors{static_cast<int64_t>(core.vector / 16),
                               static_cast<int64_t>(core.streaming / 16)};
    tuner::KernelFacts facts;
    facts.isa = variant.isa->name;
    facts.tile_m = static_cast<double>(variant.tile.m.at(vectors));
    facts.tile_n = static_cast<double>(variant.tile.n.at(vectors));
    if (facts.tile_m == 0 || facts.tile_n == 0) return std::nullopt;
    // The prediction is for vectors of 16 bytes.
    facts.macs_per_cycle =
        rate(variant) * times(variant.tile.m, vectors) * times(variant.tile.n, vectors);
    constexpr int64_t deep = 1 << 20;  // so that what stands once a panel does not matter
    facts.weight_bits = 8 * static_cast<double>(panel_bytes(variant.rhs, deep).at(vectors)) /
                        static_cast<double>(variant.rhs.panel.at(vectors) * deep);
    return facts;
  }

 private:
  void read() {
    variants_ = read_variants(specs_, isas_);
    for (const Variant& variant : variants_) {
      for (const std::string& row : row_names(variant)) by_name_[row] = &variant;
    }
  }

  static double times(const Length& length, VectorLength vectors) {
    return static_cast<double>(length.vl != 0 ? vectors.vl : length.svl != 0 ? vectors.svl : 1);
  }

  /// Multiply-adds a cycle on the core that the kernel is scheduled for; 1: not known.
  double rate(const Variant& variant) {
    const auto [at, is_new] = rates_.try_emplace(&variant, 1);
    if (!is_new) return at->second;
    const CoreModel core = read_core(templates_, core_name(variant));
    const Compiled compiled = compile(variant, core);
    const Program* program = instructions(compiled);
    const double predicted =
        program == nullptr ? 0 : explain(*program, core, block_trips(variant)).macs_per_cycle;
    return at->second = predicted > 0 ? predicted : 1;
  }

  std::vector<SpecInput> specs_;
  std::filesystem::path templates_;
  IsaLibrary isas_;
  std::vector<Variant> variants_;
  std::map<std::string, const Variant*> by_name_;
  std::map<const Variant*, double> rates_;
};

}  // namespace

tuner::FactsOf facts_from_specs(const std::vector<SpecInput>& specs,
                                const std::filesystem::path& templates) {
  const auto kernels = std::make_shared<Kernels>(specs, templates);
  return [kernels](const std::string& kernel, const tuner::Core& core) {
    return kernels->facts(kernel, core);
  };
}

}  // namespace tw
