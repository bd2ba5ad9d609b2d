// Writes a Program operation by operation; what `lower` works with.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

class Builder {
 public:
  Builder(std::string name, const Isa& isa);

  /// Attributes of an operation that are not values.
  struct With {
    int bits = 0;
    Length offset = 0;
    int64_t imm = 0;
    Length bytes = 0;  ///< length of a vector result; zero: same as the first vector argument,
                       ///< or the ISA's vector length
    Length rows = 0;   ///< of a tile without arguments that are tiles, whose rows have `bytes`;
                       ///< zero: as accumulators
  };
  Value op(OpCode code, std::initializer_list<Value> args, With with, std::string hint = "",
           Role role = Role::other);
  Value op(OpCode code, std::initializer_list<Value> args = {}) { return op(code, args, With{}); }

  Value arg(ArgField field);  ///< reads it here; cheap, so read again instead of keeping it
  Value constant(int64_t value);
  /// Pointer to memory of the function's own; once a Program. `alone`: no other is made of it.
  Value scratch(int64_t bytes, bool alone = true);
  Value add(Value pointer, Length bytes, std::string hint = "");  ///< iadd_imm; 0 gives `pointer`

  /// A loop of `count` iterations. `body` gets the parameters and returns the yields.
  using Body = std::function<std::vector<Value>(const std::vector<Value>& params)>;
  std::vector<Value> loop(std::string label, Value count, const std::vector<Value>& inits,
                          const Body& body);
  /// A loop of ceil(count / step) iterations.
  std::vector<Value> stepped_loop(std::string label, Value count, Length step,
                                  const std::vector<Value>& inits, const Body& body);
  /// The same as loop(); the innermost loop over k, `macs` multiply-accumulates per iteration.
  std::vector<Value> hot_loop(std::string label, Value count, const std::vector<Value>& inits,
                              int64_t macs, const Body& body);
  void branch(Value a, Compare compare, Value b, const std::function<void()>& then_body,
              const std::function<void()>& else_body = {});

  [[nodiscard]] const Isa& isa() const { return *program_.isa; }
  [[nodiscard]] Type type(Value v) const { return program_.type(v); }
  void rename(Value v, std::string hint, Role role);
  /// Operations so far, outside of loops and branches; finish() puts those in front that enter
  /// modes.
  [[nodiscard]] size_t written() const { return program_.body.nodes.size(); }
  Program finish();  ///< verified; throws std::logic_error if the lowering is wrong

 private:
  [[nodiscard]] bool needs(Mode mode) const;
  void insert_modes();
  std::vector<Value> make_loop(std::string label, Value count, const std::vector<Value>& inits,
                               bool hot, int64_t macs, const Body& body);
  Program program_;
  std::vector<Region*> regions_;
};

}  // namespace tw
