#include <bit>

#include "ir/meaning_forms.h"
#include "ir/meaning_products.h"

namespace tw {
namespace {

void shift_right_signed(const Step& s, uint8_t* to) {
  with_lane(s.bits, [&](auto zero) {
    using T = std::make_signed_t<decltype(zero)>;
    for (size_t i = 0; i < s.to.bytes / sizeof(T); ++i) {
      put(to, i, static_cast<T>(lane<T>(s, 0, i) >> s.imm));
    }
  });
}

void mla_lane(const Step& s, uint8_t* to) {
  const auto of_segment = lane_of_segment(s.imm);
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i,
        lane<uint32_t>(s, 0, i) + lane<uint32_t>(s, 1, i) * lane<uint32_t>(s, 2, of_segment(i)));
  }
}

void bit_matrix(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes; ++i) {
    const uint8_t* matrix = s.arg[1].at + i / 8 * 8;
    int bits = 0;
    for (size_t bit = 0; bit < 8; ++bit) {
      const auto kept = static_cast<unsigned>(matrix[7 - bit] & s.arg[0].at[i]);
      bits |= (std::popcount(kept) & 1) << bit;
    }
    put(to, i, static_cast<uint8_t>(bits));
  }
}

void pair_add(const Step& s, uint8_t* to) {
  with_lane(s.bits, [&](auto zero) {
    using T = decltype(zero);
    const size_t half = s.to.bytes / sizeof(T) / 2;
    for (size_t i = 0; i < s.to.bytes / sizeof(T); ++i) {
      const int side = i < half ? 0 : 1;
      const size_t from = 2 * (i % half);
      const uint64_t sum = uint64_t{lane<T>(s, side, from)} + lane<T>(s, side, from + 1);
      put(to, i, static_cast<T>(sum));
    }
  });
}

/// Signed lanes of T to lanes of N, half as wide.
template <typename T, typename N>
void narrow_lanes(const Step& s, uint8_t* to) {
  const size_t lanes = 16 / sizeof(T);
  for (size_t i = 0; i < s.to.bytes / sizeof(N); ++i) {
    const size_t segment = i / (2 * lanes);
    const size_t within = i % (2 * lanes);
    const T from = lane<T>(s, static_cast<int>(within / lanes), segment * lanes + within % lanes);
    put(to, i, saturate<N>(from));
  }
}

void narrow_pair(const Step& s, uint8_t* to) {
  if (s.bits == 32) return narrow_lanes<int32_t, int16_t>(s, to);
  narrow_lanes<int16_t, int8_t>(s, to);
}

template <typename B, typename F>
void dot4(const Step& s, uint8_t* to, F&& c_lane) {
  dot_lanes<B, int8_t>(s.to.bytes, s.arg[0].at, s.arg[1].at, s.arg[2].at, to, c_lane);
}

/// Sums of 2 products of neighbors, put into lanes twice as wide.
template <typename A, typename B, typename F>
void dot2(const Step& s, uint8_t* to, F&& result) {
  for (size_t i = 0; i < s.to.bytes / (2 * sizeof(A)); ++i) {
    int64_t sum = 0;
    for (size_t j = 2 * i; j < 2 * i + 2; ++j) {
      sum += int64_t{lane<A>(s, 0, j)} * lane<B>(s, 1, j);
    }
    put(to, i, result(sum));
  }
}

void mmla(const Step& s, uint8_t* to) {
  for (size_t at = 0; at < s.to.bytes / 4; ++at) {
    const size_t segment = at / 4;
    const size_t row = at % 4 / 2;
    const size_t column = at % 2;
    auto sum = lane<uint32_t>(s, 0, at);
    for (size_t j = 0; j < 8; ++j) {
      const int b = lane<int8_t>(s, 1, 16 * segment + 8 * row + j);
      const int c = lane<int8_t>(s, 2, 16 * segment + 8 * column + j);
      sum += static_cast<uint32_t>(b * c);
    }
    put(to, at, sum);
  }
}

}  // namespace

void add_integer_meanings(MeaningTable& table) {
#include "model/operations_integers.h"
}

}  // namespace tw
