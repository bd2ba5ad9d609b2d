// Micro-kernels under the names of another library, KleidiAI, whose clients call ours by them:
// which of our kernels and packers stand behind each name. Read from
// integrations/kleidiai/names.yaml by spec/client_reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/variant.h"

namespace tw {

struct ClientMatmul {
  std::string name;      ///< "matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_8x8x32_neon_i8mm"
  std::string family;    ///< as that library calls it, which types of functions are named after ...
  std::string pointers;  ///< ... the struct of pointers to them ...
  std::string folder;    ///< ... and where it has the header
  Length m_step = 1;     ///< callers begin at multiples of these
  Length n_step = 1;
  int64_t sr = 1;
  int64_t kr = 1;          ///< what callers are told
  bool in_chunks = false;  ///< k is the taps of a convolution, each of which begins a group
  /// More than one: the same code but for the length of blocks, shortest first.
  std::vector<const Variant*> kernels;
  /// For the last rows, where these leave room for its tile in that of `kernels`, of rows that are
  /// not packed one by one: as many as `kernels`, or none. Likewise for one last row.
  std::vector<const Variant*> rest, single;
};

struct ClientDepthwise {
  std::string name;    ///< "dwconv_clamp_f32_f32_f32p1vlx1b_3x3_s1_4xc_sme2_mla"
  std::string family;  ///< as those of ClientMatmul
  std::string folder;
  const Variant* kernel = nullptr;
  int64_t rows = 0;  ///< lines of outputs that a call makes; 0: all of a plane
};

/// Packers into panels of any shape: which of ours there are follows from the kernels' layouts.
struct ClientPacker {
  std::string name;  ///< "rhs_pack_nxk_qsi4cxp_qs4cxs1s0"
  Side side = Side::lhs;
  const Format* format = nullptr;
  std::string source;                  ///< what it reads, as of our packers: "f32", "nxk"
  const Format* with = nullptr;        ///< what it is multiplied with; null: any
  Rounding rounding = Rounding::away;  ///< of activations
  bool rows_of_n = false;   ///< of weights: a row of the source holds one value of k of each column
  bool sequential = false;  ///< of weights: nibbles of a byte are neighbors in k
  bool apart = false;       ///< scales of blocks stand behind all codes
  bool real_sums = false;   ///< of activations: with what a block's codes are worth together
  bool high_first = false;  ///< of weights: a byte's first value of k is its high nibble
  bool rows_of_blocks = false;  ///< of weights: rows are blocks that begin with their scale
  std::string params;           ///< of weights: the struct that says what their codes are
  std::string alias;            ///< another name of that struct; empty: none
  Length panel = 0;             ///< of floats: rows or columns of its panels, which the name says
  bool repeats = false;  ///< of floats: beyond the last column one value stands again and again
  std::optional<ElementType> of;  ///< of bf16: what is rounded by plain C; none: no plain C
  std::string bias;               ///< of weights in floats: what bias_suffix() says of their layout
  bool first_again = false;       ///< of weights: behind the last value of k the first one again
  bool first_row = false;         ///< of activations: where there are no rows the panel's first one
  bool in_chunks = false;         ///< as those of ClientMatmul; rows of the lhs by pointers
  bool of_taps = false;           ///< of depthwise convolutions, whose k is the taps of a window
  Where where;

  /// Of weights: code 0 of a block is worth something, as callers tell.
  [[nodiscard]] bool has_offsets() const {
    return side == Side::rhs && format->scales == Granularity::block && format->has_zero_point;
  }
};

/// Packers that are told structs, which only their library's own functions call: plain C.
struct ClientStructPacker {
  std::string name;
  std::string by;          ///< the function in C
  bool rows_of_n = false;  ///< as that of ClientPacker
  Length panel = 0;
};

struct ClientNames {
  std::string version;  ///< of the library that had the names first
  std::vector<ClientMatmul> matmuls;
  std::vector<ClientDepthwise> depthwise;
  std::vector<ClientPacker> packers;
  std::vector<ClientStructPacker> struct_packers;
};

}  // namespace tw
