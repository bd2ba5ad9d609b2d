// Specs for two small ISAs.
#pragma once

#include <gtest/gtest.h>

#include "folder.h"
#include "spec/spec_reader.h"

namespace tw {

// Two ISAs: one that dots unsigned with signed bytes in vectors of 16 lanes, one that multiplies
// small matrices and cannot be printed as assembly.
inline const std::string wide =
    "isa: wide\nvector_bytes: 64\n"
    "registers: {v: {kind: vector, views: {v: \"v{0..31}\"}}, r: {kind: scalar, views: {r: "
    "\"r{0..15}\"}}}\n"
    "convention: plain\n"
    "rows:\n"
    "  - {means: \"d = dot4_u8s8(c, a, b)\", tied: {d: c}, c: \"dot({c}, {a}, {b})\", asm: \"dot "
    "{d}, {a}, {b}\", class: dot}\n"
    "  - {means: \"d = fma(a, b, c)\", tied: {d: c}, c: \"fma({a}, {b}, {c})\"}\n"
    "  - {means: \"d = shl.32(a, #i)\", c: \"shl({a}, {i})\"}\n";
inline const std::string matrix =
    "isa: matrix\nvector_bytes: 16\nusual_technique: mmla\n"
    "rows:\n"
    "  - {means: \"d = mmla_s8s8(c, a, b)\", tied: {d: c}, c: \"mmla({c}, {a}, {b})\"}\n"
    "  - {means: \"d = shl.8(a, #i)\", c: \"shl({a}, {i})\"}\n"
    "  - {means: \"d = cvt_f32_f16(a)\", c: \"half({a})\"}\n";

/// The first five lines of a spec; its kernels follow from line 6.
inline const std::string head =
    "family: matmul_clamp_f32_qai8dxp_qsi4cxp\n"
    "lhs: {format: qai8dx, from: [f32]}\n"
    "rhs: {format: qsi4cx, from: [nxk, kxn]}\n"
    "dst: f32\n"
    "kernels:\n";

class SpecReader : public testing::Test {
 protected:
  void SetUp() override {
    folder.write("isa/wide.yaml", wide);
    folder.write("isa/matrix.yaml", matrix);
    folder.write("abi/plain.yaml", "args_register: r0\nleave: ret\n");
    folder.write("core/big.yaml", "core: big\nwidth: 4\nports: [p]\n");
  }
  std::vector<Variant> read(const std::string& text) {
    return read_spec(folder.write("s.yaml", text), isas);
  }
  std::string error(const std::string& text) {
    return folder.error([&] { read(text); });
  }
  /// The error of one kernel, at line 6; its first key is at column 6.
  std::string kernel_error(const std::string& kernel) {
    return error(head + "  - {" + kernel + "}\n");
  }

  Folder folder;
  IsaLibrary isas{folder.path()};
};

}  // namespace tw
