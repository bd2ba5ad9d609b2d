#include <algorithm>
#include <cstring>

#include "kernels/case.h"
#include "kernels/rows.h"
#include "support/environment.h"

namespace tw::test {
namespace {

/// Whole blocks, if there are blocks.
size_t depth_of(const tw_kernel& kernel, size_t k) {
  const size_t block = std::max<size_t>(1, kernel.rhs->block);
  return (k + block - 1) / block * block;
}

std::vector<size_t> depths(const tw_kernel& kernel) {
  std::vector<size_t> list;
  for (const size_t k : {0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 97, 256}) {
    list.push_back(depth_of(kernel, k));
  }
  // More than half of a tile is left of k.
  if (std::strcmp(kernel.technique, "tile") == 0) list.push_back(depth_of(kernel, 87));
  list.push_back(2 * kernel.rhs->block);
  list.push_back(3 * kernel.rhs->block);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

/// The edges of a dimension whose tile (or panel) is `tile`, and a prime past several of them.
std::vector<size_t> edges(size_t tile, size_t prime) {
  std::vector<size_t> list = {0, 1, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 1, prime};
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

Case whole(size_t m, size_t n, size_t k) {
  Case test;
  test.m = m;
  test.n = n;
  test.k = k;
  test.portion = {0, m, 0, n};
  return test;
}

/// The `turn`-th mixture of options. The moduli have no common factors, so that all pairs meet.
void deal_options(Case& test, size_t turn) {
  test.bias = static_cast<Bias>(turn % 3);
  test.clamp = static_cast<Clamp>(turn / 3 % 4);
  test.flush = turn % 2 == 0 ? Flush::end : Flush::start;
  test.misalign = turn % 5 == 0 ? 1 : 0;
  test.dst_padding = turn % 7 == 0 ? 4 : turn % 7 == 1 ? 61 : 0;
  test.panel_padding = turn % 11 == 0 ? 64 : 0;
  test.prefetch = turn % 13 * 512;
  test.kxn = turn / 2 % 2 == 1;
  test.unsigned_nibbles = turn / 4 % 2 == 1;
}

}  // namespace

std::vector<Case> shape_cases(const tw_kernel& kernel) {
  const std::vector<size_t> rows = edges(tile_rows(kernel), 13);
  const std::vector<size_t> columns = edges(tile_columns(kernel), 37);
  const std::vector<size_t> all_k = depths(kernel);
  // Any two of m, n and k meet, where there is something to compute, if the third has as many
  // values as there are remainders; all three in long runs.
  const size_t turns = std::min({rows.size() - 1, columns.size() - 1, all_k.size()});
  std::vector<Case> cases;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size(); ++j) {
      const bool nothing = rows[i] == 0 || columns[j] == 0;  // to compute, whatever k
      for (size_t l = 0; l < (nothing ? 1 : all_k.size()); ++l) {
        if (!nothing && !is_long() && (i + j + l) % turns != 0) continue;
        Case test = whole(rows[i], columns[j], all_k[l]);
        deal_options(test, cases.size());
        cases.push_back(test);
      }
    }
  }
  return cases;
}

std::vector<Case> tail_cases(const tw_kernel& kernel) {
  std::vector<Case> cases;
  size_t turn = 0;
  const size_t k = depth_of(kernel, 33);
  for (size_t m = 1; m < tile_rows(kernel); ++m) cases.push_back(whole(m, tile_columns(kernel), k));
  // Of tiles of a hundred columns, as very long vectors make them, some fifty, odd ones and even
  // ones, and the last.
  const size_t columns = tile_columns(kernel);
  const size_t step = is_long() ? 1 : 2 * (columns / 100) + 1;
  for (size_t n = 1; n < columns; n += step) cases.push_back(whole(tile_rows(kernel), n, k));
  if (columns > 1 && step > 1) cases.push_back(whole(tile_rows(kernel), columns - 1, k));
  for (Case& test : cases) deal_options(test, turn++);
  return cases;
}

std::vector<Case> option_cases(const tw_kernel& kernel) {
  std::vector<Case> cases;
  size_t turn = 0;
  for (int values = 0; values < static_cast<int>(Values::count); ++values) {
    for (int bias = 0; bias < static_cast<int>(Bias::count); ++bias) {
      for (int clamp = 0; clamp < static_cast<int>(Clamp::count); ++clamp) {
        for (const int flush : {0, 1}) {
          // Any two of them meet, since 2 and 3 share no factor; all in long runs.
          const int both = values + clamp;
          if (!is_long() && (bias != both % 3 || flush != both % 2)) continue;
          Case test = whole(tile_rows(kernel) + 1, tile_columns(kernel) + 3,
                            depth_of(kernel, turn % 3 == 0 ? 40 : 65));
          deal_options(test, turn++);
          test.values = static_cast<Values>(values);
          test.bias = static_cast<Bias>(bias);
          test.clamp = static_cast<Clamp>(clamp);
          test.flush = flush == 0 ? Flush::start : Flush::end;
          cases.push_back(test);
        }
      }
    }
  }
  return cases;
}

std::vector<Case> portion_cases(const tw_kernel& kernel) {
  const size_t mp = panel_rows(*kernel.lhs);
  const size_t np = panel_rows(*kernel.rhs);
  const size_t m = 3 * std::max(mp, tile_rows(kernel)) + 1;
  const size_t n = 3 * std::max(np, tile_columns(kernel)) + 5;
  const Portion portions[] = {
      {0, mp, 0, np},                    // the first panel
      {mp, 2 * mp, np, 2 * np},          // one in the middle
      {mp, m, 0, n},                     // rows to the end
      {0, m, np, n},                     // columns to the end
      {m / mp * mp, m, n / np * np, n},  // the partial panels in the corner
      {mp, mp + 1, np, np + 1},          // one value
      {mp, mp, 0, n},                    // nothing
      {0, m, 2 * np, 3 * np - 1},        // a column short of a panel
  };
  std::vector<Case> cases;
  size_t turn = 1;
  for (const Portion& portion : portions) {
    for (Flush flush : {Flush::start, Flush::end}) {
      Case test = whole(m, n, depth_of(kernel, 70));
      deal_options(test, turn++);
      test.portion = portion;
      test.flush = flush;
      cases.push_back(test);
    }
  }
  return cases;
}

std::vector<Case> deep_cases(const tw_kernel& kernel) {
  std::vector<Case> cases;
  for (Values values : {Values::extreme, Values::random}) {
    // Extreme values are what overflows; rounding shows in shorter rows, too.
    const bool deepest = is_long() || values == Values::extreme;
    Case test = whole(std::max<size_t>(2, tile_rows(kernel)),
                      std::min<size_t>(4, tile_columns(kernel)), deepest ? 16384 : 4096);
    test.values = values;
    cases.push_back(test);
  }
  return cases;
}

}  // namespace tw::test
