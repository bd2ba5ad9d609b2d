// Programs for the tests of schedule/: hand-made and random ones, and what they compute.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/interpreter.h"
#include "spec/isa_reader.h"

namespace tw::test {

/// A fake ISA: `fake` has 8 vector registers and two-operand instructions; `fake_wide` has long
/// vectors, many of them.
const Isa& fake_isa(const std::string& name = "fake");
/// A shipped table.
const Isa& shipped_isa(const std::string& name);

/// Bytes that the Programs read through the argument lhs, and write (and read again) through dst.
constexpr int64_t source_bytes = 1024;
constexpr int64_t target_bytes = 1024;

/// What dst holds after a run in which k, m and n are `counts`; throws Fault.
std::vector<uint8_t> result_of(const Program& program, const std::vector<uint64_t>& counts,
                               bool physical = false);

/// Loads, stores, arithmetic, loops (some hot) and branches at random; few values live at once.
Program random_program(const Isa& isa, uint32_t seed);

/// Rows of the first hot loop's body by name, in order.
std::vector<std::string> hot_rows(const Program& program);
/// Names of all rows of the Program.
std::vector<std::string> all_rows(Program& program);
int count_of(const std::vector<std::string>& names, const std::string& name);

}  // namespace tw::test
