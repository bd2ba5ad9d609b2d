// Random variants and shapes for one ISA.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "model/variant.h"
#include "reference/code_tables.h"
#include "reference/matmul_reference.h"

namespace tw::test {

/// The same numbers everywhere, for one seed.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  /// [from, to]
  int64_t between(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(engine_() % static_cast<uint32_t>(to - from + 1));
  }
  template <typename T>
  T of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937 engine_;
};

/// What a variant is made of before its tile.
struct Ground {
  const Isa* isa = nullptr;
  Technique technique = Technique::dot;
  const char* lhs = "qai8dx";
  const char* rhs = "qsi4cx";
  LayoutStyle style = LayoutStyle::own;
  ElementType scales = ElementType::f16;  ///< per block
  ElementType sums = ElementType::f32;    ///< of floats
  bool indirect = false;                  ///< pointers tell the rows
  bool gives_sums = false;                ///< integers; else any output that is possible
  const char* rows_of = nullptr;          ///< other weights, with whose rows these are multiplied

  [[nodiscard]] bool blocks() const { return find_format(rhs)->scales == Granularity::block; }
};

/// What a layout's codes stand for; null: themselves.
const CodeValues* values_of(const Layout& layout);

/// False when the ISA has no instruction for it.
bool possible(const Ground& ground);

/// Any panels, tile and knobs that a spec could ask for; registers are not looked at. None when
/// the dice fell on a combination that choose_layouts refuses.
std::optional<Variant> random_variant(const Ground& ground, Random& random);

/// A multiplication around the edges of that variant's tile.
Codes random_codes(const Variant& variant, VectorLength vl, Random& random);

std::string describe(const Variant& variant);

}  // namespace tw::test
