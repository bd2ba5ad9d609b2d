// Predicates, accumulator tiles and modes.
#include <gtest/gtest.h>

#include "helpers.h"
#include "ir/meaning.h"

namespace tw::test {
namespace {

constexpr int64_t tiles = static_cast<int64_t>(Mode::accumulator_tiles);
constexpr int64_t stream = static_cast<int64_t>(Mode::streaming);

/// Which lanes of ones reach memory: stores under the predicate that `make` makes.
template <typename Make>
std::vector<bool> active(const Isa& isa, int bits, VectorLength vl, const Make& make) {
  Program program = written(isa, [&](Builder& b, Value, Value to) {
    b.op(OpCode::store_pred, {make(b), to, b.op(OpCode::splat, {}, {.bits = 8, .imm = 1})},
         {.bits = bits});
  });
  Memory memory;
  Arguments arguments;
  auto bytes = static_cast<size_t>(isa.vector_bytes.at(vl));
  uint64_t dst = memory.add_unwritten("dst", bytes);
  arguments.field[static_cast<size_t>(ArgField::lhs)] = dst;
  arguments.field[static_cast<size_t>(ArgField::dst)] = dst;
  run(program, arguments, memory, {.vl = vl});
  std::vector<bool> lanes;
  auto lane = static_cast<size_t>(bits) / 8;
  for (size_t i = 0; i < bytes; i += lane) {
    lanes.push_back(memory.written(dst)[i]);
    for (size_t j = 1; j < lane; ++j) EXPECT_EQ(memory.written(dst)[i + j], lanes.back());
  }
  return lanes;
}

TEST(Predicates, MakingThem) {
  for (int64_t vl : {1, 2, 4}) {
    for (int bits : {8, 16, 32, 64}) {
      auto lanes = static_cast<size_t>(128 / bits * vl);
      EXPECT_EQ(active(scalable(), bits, {vl, 1},
                       [&](Builder& b) { return b.op(OpCode::pred_all, {}, {.bits = bits}); }),
                std::vector<bool>(lanes, true));
      for (size_t n : {size_t{0}, size_t{1}, lanes - 1, lanes, lanes + 1}) {
        std::vector<bool> expected(lanes, true);
        for (size_t i = n; i < lanes; ++i) expected[i] = false;
        EXPECT_EQ(active(scalable(), bits, {vl, 1},
                         [&](Builder& b) {
                           return b.op(OpCode::pred_first, {b.constant(static_cast<int64_t>(n))},
                                       {.bits = bits});
                         }),
                  expected);
      }
    }
  }
  EXPECT_EQ(
      active(fixed16(), 32, {},
             [](Builder& b) { return b.op(OpCode::pred_first, {b.constant(-1)}, {.bits = 32}); }),
      std::vector<bool>(4, true))
      << "counts are unsigned";
  EXPECT_EQ(
      active(fixed16(), 32, {},
             [](Builder& b) { return b.op(OpCode::pred_bits, {b.constant(0xF5)}, {.bits = 32}); }),
      (std::vector<bool>{true, false, true, false}));
}

TEST(Predicates, LoadsTouchActiveLanesOnly) {
  // 3 values of i32 exist; the fourth lane would read beyond them.
  std::vector<int32_t> input = {5, 6, 7};
  Bytes got = run_written(fixed16(), bytes_of(input), 16, [](Builder& b, Value from, Value to) {
    Value three = b.op(OpCode::pred_first, {b.constant(3)}, {.bits = 32});
    b.op(OpCode::store, {to, b.op(OpCode::load_pred, {three, from}, {.bits = 32})});
  });
  EXPECT_EQ(as<int32_t>(got), (std::vector<int32_t>{5, 6, 7, 0}));
  EXPECT_NE(fault_of([&] {
              run_written(fixed16(), bytes_of(input), 16, [](Builder& b, Value from, Value) {
                Value all = b.op(OpCode::pred_all, {}, {.bits = 32}, "all");
                b.op(OpCode::load_pred, {all, from}, {.bits = 32}, "x");
              });
            }).find("read of 4 bytes at lhs+12: the region has 12 bytes"),
            std::string::npos);
}

TEST(Predicates, SegmentsOfActiveLanesAreRepeated) {
  const Bytes input = {5, 6, 7};
  const auto write = [](Builder& b, Value from, Value to) {
    const Value three = b.op(OpCode::pred_first, {b.constant(3)}, {.bits = 8});
    b.op(OpCode::store, {to, b.op(OpCode::load_pred_dup, {three, from}, {.bits = 8})});
  };
  const Bytes got = run_written(isa_of(32), input, 32, write);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % 16 < 3 ? input[i % 16] : 0);
}

/// A tile from two outer products of rows b and columns c, read row by row.
void write_tile(Builder& b, Value from, Value to, Value rows, Value columns, int64_t svl) {
  Value x = b.op(OpCode::load, {from});
  Value y = b.op(OpCode::load, {from}, {.offset = {0, 0, 16}});
  b.op(OpCode::mode_enter, {}, {.imm = tiles});
  Value p = b.op(OpCode::pred_first, {rows}, {.bits = 8});
  Value q = b.op(OpCode::pred_first, {columns}, {.bits = 8});
  Value all = b.op(OpCode::pred_all, {}, {.bits = 8});
  Value tile = b.op(OpCode::tile_zero);
  tile = b.op(OpCode::outer_s8s8, {tile, x, y, all, all});
  tile = b.op(OpCode::outer_s8s8, {tile, x, y, p, q});
  for (int64_t row = 0; row < 4 * svl; ++row) {
    Value line = b.op(OpCode::tile_row, {tile, b.constant(row)});
    b.op(OpCode::store, {to, line}, {.offset = 16 * svl * row});
  }
  b.op(OpCode::mode_leave, {}, {.imm = tiles});
}

TEST(Tiles, OuterProducts) {
  for (int64_t svl : {1, 2, 4}) {
    auto n = static_cast<size_t>(4 * svl);
    Bytes input = random_bytes(8 * n, 9);
    size_t active_rows = n - 1;         // of the second product, in whole rows
    size_t active_columns = 4 * n - 3;  // in bytes: the last column has one
    Bytes got =
        run_written(streaming(), input, 4 * n * n,
                    [&](Builder& b, Value from, Value to) {
                      write_tile(b, from, to, b.constant(static_cast<int64_t>(4 * active_rows)),
                                 b.constant(static_cast<int64_t>(active_columns)), svl);
                    },
                    {1, svl});
    std::vector<int8_t> codes = as<int8_t>(input);
    std::vector<int32_t> expected;
    for (size_t row = 0; row < n; ++row) {
      for (size_t column = 0; column < n; ++column) {
        int32_t sum = 0;
        for (size_t j = 0; j < 4; ++j) {
          int product = codes[4 * row + j] * codes[4 * n + 4 * column + j];
          bool twice = row < active_rows && 4 * column + j < active_columns;
          sum += twice ? 2 * product : product;
        }
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(as<int32_t>(got), expected) << "svl " << svl;
  }
}

/// One tile of dot products in four of its rows, read row by row: vectors 0 to 3 of `from` with
/// lane 1 of vector 4, then with its lane 3.
void write_dots(Builder& b, Value from, Value to, int64_t svl) {
  std::vector<Value> v;
  for (int64_t i = 0; i < 5; ++i) {
    v.push_back(b.op(OpCode::load, {from}, {.offset = Length{0, 0, 16} * i}));
  }
  b.op(OpCode::mode_enter, {}, {.imm = tiles});
  Value tile = b.op(OpCode::tile_zero);
  for (const int64_t lane : {1, 3}) {
    tile = b.op(OpCode::tile_dot4_s8s8_lane, {tile, v[0], v[1], v[2], v[3], v[4]}, {.imm = lane});
  }
  for (int64_t row = 0; row < 4 * svl; ++row) {
    Value line = b.op(OpCode::tile_row, {tile, b.constant(row)});
    b.op(OpCode::store, {to, line}, {.offset = 16 * svl * row});
  }
  b.op(OpCode::mode_leave, {}, {.imm = tiles});
}

TEST(Tiles, DotProductsIntoFourRows) {
  for (int64_t svl : {1, 2, 4}) {
    const auto n = static_cast<size_t>(4 * svl);  // rows, and columns
    const Bytes input = random_bytes(5 * 4 * n, 10);
    const Bytes got = run_written(
        streaming(), input, 4 * n * n,
        [&](Builder& b, Value from, Value to) { write_dots(b, from, to, svl); }, {1, svl});
    const std::vector<int8_t> codes = as<int8_t>(input);
    std::vector<int32_t> expected(n * n, 0);
    for (size_t i = 0; i < 4; ++i) {
      for (size_t column = 0; column < n; ++column) {
        const size_t segment = 4 * 4 * n + column / 4 * 16;  // of the activations
        for (size_t j = 0; j < 4; ++j) {
          const int a = codes[segment + 4 + j] + codes[segment + 12 + j];
          expected[i * (n / 4) * n + column] += a * codes[(i * n + column) * 4 + j];
        }
      }
    }
    EXPECT_EQ(as<int32_t>(got), expected) << "svl " << svl;
  }
}

/// Products of vectors 0 to 3 of `from` with vector 4, twice in the group of rows that begins with
/// row 1: all rows, and then those of the group, counted on from behind the last group.
void write_fours(Builder& b, Value from, Value to, int64_t svl) {
  std::vector<Value> v;
  for (int64_t i = 0; i < 5; ++i) {
    v.push_back(b.op(OpCode::load, {from}, {.offset = Length{0, 0, 16} * i}));
  }
  b.op(OpCode::mode_enter, {}, {.imm = tiles});
  Value tile = b.op(OpCode::tile_zero);
  for (const int64_t down : {0, 1}) {
    const Value row = b.constant(4 * (1 - down));
    tile = b.op(OpCode::tile_fma4, {tile, row, v[0], v[1], v[2], v[3], v[4], v[4], v[4], v[4]},
                {.imm = down});
  }
  std::vector<Value> lines;
  for (int64_t row = 0; row < 4 * svl; ++row) {
    lines.push_back(b.op(OpCode::tile_row, {tile, b.constant(row)}));
  }
  for (int64_t i = 0; i < 4; ++i) {
    lines.push_back(b.op(OpCode::tile_quarter, {tile, b.constant(4 * svl)}, {.imm = 4 + i}));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    b.op(OpCode::store, {to, lines[i]}, {.offset = 16 * svl * static_cast<int64_t>(i)});
  }
  b.op(OpCode::mode_leave, {}, {.imm = tiles});
}

/// Vectors 4 to 7 in four rows, vectors 0 to 3 of f16 times vector 8 added to them.
void write_halves(Builder& b, Value from, Value to, OpCode product, int64_t svl) {
  std::vector<Value> v;
  for (int64_t i = 0; i < 9; ++i) {
    v.push_back(b.op(OpCode::load, {from}, {.offset = Length{0, 0, 16} * i}));
  }
  b.op(OpCode::mode_enter, {}, {.imm = tiles});
  const Value row = b.constant(0);
  Value tile = b.op(OpCode::tile_zero);
  tile = b.op(OpCode::tile_put4, {tile, row, v[4], v[5], v[6], v[7]});
  tile = b.op(product, {tile, row, v[0], v[1], v[2], v[3], v[8]});
  for (int64_t i = 0; i < 4; ++i) {  // counted on from behind the last row
    const Value line = b.op(OpCode::tile_row4, {tile, b.constant(4 * svl * (4 + i))});
    b.op(OpCode::store, {to, line}, {.offset = 16 * svl * i});
  }
  b.op(OpCode::mode_leave, {}, {.imm = tiles});
}

TEST(Tiles, HalvesIntoFourRows) {
  for (int64_t svl : {1, 2, 4}) {
    const auto n = static_cast<size_t>(4 * svl);  // columns
    // Small whole numbers as f16, sums as f32.
    const auto whole = [](size_t i) { return static_cast<int>(i * 7 % 11) - 5; };
    std::vector<uint16_t> halves;
    for (size_t i = 0; i < 18 * n; ++i) {
      halves.push_back(float_to_half(static_cast<float>(whole(i))));
    }
    Bytes input = bytes_of(halves);
    std::vector<float> sums;
    for (size_t i = 0; i < 4 * n; ++i) sums.push_back(static_cast<float>(100 * i));
    std::memcpy(input.data() + 4 * 4 * n, sums.data(), sums.size() * sizeof(float));
    for (const size_t which : {0, 1}) {
      const OpCode product = which == 0 ? OpCode::tile_fma4_even : OpCode::tile_fma4_odd;
      const Bytes got = run_written(
          streaming(), input, 4 * 4 * n,
          [&](Builder& b, Value from, Value to) { write_halves(b, from, to, product, svl); },
          {1, svl});
      std::vector<float> expected;
      for (size_t i = 0; i < 4 * n; ++i) {
        const int product_of = whole(2 * i + which) * whole(16 * n + i % n * 2 + which);
        expected.push_back(sums[i] + static_cast<float>(product_of));
      }
      EXPECT_EQ(as<float>(got), expected) << "svl " << svl << ", element " << which;
    }
  }
}

TEST(Tiles, FourRowsAtATime) {
  for (int64_t svl : {1, 2, 4}) {
    const auto n = static_cast<size_t>(4 * svl);
    std::vector<float> numbers;
    for (const uint8_t byte : random_bytes(5 * n, 11)) numbers.push_back(byte);
    const Bytes got = run_written(
        streaming(), bytes_of(numbers), 4 * n * (n + 4),
        [&](Builder& b, Value from, Value to) { write_fours(b, from, to, svl); }, {1, svl});
    std::vector<float> expected(n * (n + 4), 0);
    for (size_t i = 0; i < 4; ++i) {
      const size_t row = 1 % (n / 4) + i * (n / 4);
      for (size_t column = 0; column < n; ++column) {
        const float sum = 2 * numbers[i * n + column] * numbers[4 * n + column];
        expected[row * n + column] = expected[(n + i) * n + column] = sum;
      }
    }
    EXPECT_EQ(as<float>(got), expected) << "svl " << svl;
  }
}

TEST(Tiles, RowsArePutBack) {
  const int64_t svl = 2;
  const size_t n = 4 * svl;
  std::vector<float> numbers;
  for (const uint8_t byte : random_bytes(n, 12)) numbers.push_back(byte);
  const Bytes got =
      run_written(streaming(), bytes_of(numbers), 4 * n * n,
                  [&](Builder& b, Value from, Value to) {
                    b.op(OpCode::mode_enter, {}, {.imm = tiles});
                    const Value row = b.op(OpCode::load, {from});
                    Value tile = b.op(OpCode::tile_zero);
                    for (const int64_t at : {0, 5}) {
                      tile = b.op(OpCode::tile_put, {tile, b.constant(at), row});
                    }
                    for (int64_t at = 0; at < 4 * svl; ++at) {
                      const Value line = b.op(OpCode::tile_row, {tile, b.constant(at)});
                      b.op(OpCode::store, {to, line}, {.offset = 16 * svl * at});
                    }
                    b.op(OpCode::mode_leave, {}, {.imm = tiles});
                  },
                  {1, svl});
  std::vector<float> expected(n * n, 0);
  for (size_t column = 0; column < n; ++column) {
    expected[column] = expected[5 * n + column] = numbers[column];
  }
  EXPECT_EQ(as<float>(got), expected);
}

/// Rows of x and y: three and four, 16 and 12 bytes apart, of 16 and 8 bytes; sums' are 12 apart.
Bytes tile_product(OpCode product, const Bytes& input) {
  return run_written(fixed16(), input, 32, [&](Builder& b, Value from, Value to) {
    b.op(OpCode::mode_enter, {}, {.imm = tiles});
    const Value x = b.op(OpCode::tile_load, {from, b.constant(16)}, {.bytes = 16, .rows = 3}, "x");
    const Value y =
        b.op(OpCode::tile_load, {from, b.constant(12)}, {.offset = 48, .bytes = 8, .rows = 4}, "y");
    Value sum = b.op(OpCode::tile_zero, {}, {.bytes = 8, .rows = 3}, "sum");
    for (int i = 0; i < 2; ++i) sum = b.op(product, {sum, x, y});
    b.op(OpCode::tile_store, {to, b.constant(12), sum});
    b.op(OpCode::mode_leave, {}, {.imm = tiles});
  });
}

TEST(Tiles, ProductsOfTheirShapes) {
  const Bytes input = random_bytes(48 + 44, 12);
  for (const OpCode product : {OpCode::tile_dot4_s8s8, OpCode::tile_dot4_s8u8}) {
    const Bytes got = tile_product(product, input);
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < 2; ++column) {
        int32_t sum = 0;
        for (size_t k = 0; k < 16; ++k) {
          const uint8_t code = input[48 + k / 4 * 12 + 4 * column + k % 4];
          const int y = product == OpCode::tile_dot4_s8u8 ? code : static_cast<int8_t>(code);
          sum += 2 * static_cast<int8_t>(input[16 * row + k]) * y;
        }
        int32_t found = 0;
        std::memcpy(&found, got.data() + 12 * row + 4 * column, 4);
        EXPECT_EQ(found, sum) << info(product).name << ", row " << row << ", column " << column;
      }
    }
  }
}

TEST(Tiles, TouchTheirRowsOnly) {
  const auto load = [](int64_t apart) {
    return fault_of([&] {
      run_written(fixed16(), Bytes(28), 0, [&](Builder& b, Value from, Value) {
        b.op(OpCode::mode_enter, {}, {.imm = tiles});
        b.op(OpCode::tile_load, {from, b.constant(apart)}, {.bytes = 8, .rows = 3}, "x");
        b.op(OpCode::mode_leave, {}, {.imm = tiles});
      });
    });
  };
  EXPECT_EQ(load(10), "no fault");
  EXPECT_NE(load(11).find("read of 8 bytes at lhs+22: the region has 28 bytes"), std::string::npos);
  EXPECT_EQ(fault_of([&] {
              run_written(fixed16(), {}, 8, [&](Builder& b, Value, Value to) {
                const Value x = b.op(OpCode::tile_load, {to, to}, {}, "x");
                b.op(OpCode::tile_store, {to, to, x});
              });
            }),
            "test: x = tile_load(dst, dst): needs mode accumulator_tiles");
}

TEST(Tiles, NeedTheirModeAndTheirRows) {
  auto run_tile = [](const std::function<void(Builder&)>& write) {
    return fault_of([&] {
      run_written(streaming(), {}, 0, [&](Builder& b, Value, Value) { write(b); }, {1, 2});
    });
  };
  EXPECT_EQ(run_tile([](Builder& b) { b.op(OpCode::tile_zero, {}, {}, "t"); }),
            "test: t = tile_zero(): needs mode accumulator_tiles");
  auto row = [&](int64_t n) {
    return run_tile([n](Builder& b) {
      b.op(OpCode::mode_enter, {}, {.imm = tiles});
      b.op(OpCode::tile_row, {b.op(OpCode::tile_zero, {}, {}, "t"), b.constant(n)}, {}, "x");
      b.op(OpCode::mode_leave, {}, {.imm = tiles});
    });
  };
  EXPECT_EQ(row(7), "no fault");
  EXPECT_EQ(row(8), "test: x = tile_row(t, v4): row 8 of a tile with 8 rows");
  EXPECT_EQ(run_tile([](Builder& b) {
              b.op(OpCode::mode_enter, {}, {.imm = tiles});
              Value t = b.op(OpCode::tile_zero, {}, {}, "t");
              b.op(OpCode::tile_quarter, {t, b.constant(6)}, {.imm = 1}, "x");
              b.op(OpCode::mode_leave, {}, {.imm = tiles});
            }),
            "test: x = tile_quarter(t, v4, #1): 6 is not 4 times a row");
  EXPECT_EQ(run_tile([](Builder& b) {
              b.op(OpCode::mode_enter, {}, {.imm = tiles});
              Value t = b.op(OpCode::tile_zero, {}, {}, "t");
              b.op(OpCode::mode_leave, {}, {.imm = tiles});
              b.op(OpCode::tile_row, {t, b.constant(0)}, {}, "x");
            }),
            "test: x = tile_row(t, v4): needs mode accumulator_tiles");
  EXPECT_EQ(run_tile([](Builder& b) {
              b.op(OpCode::mode_enter, {}, {.imm = tiles});
              Value t = b.op(OpCode::tile_zero, {}, {}, "t");
              b.op(OpCode::tile_row, {t, b.constant(0)}, {.bytes = 16}, "x");
              b.op(OpCode::mode_leave, {}, {.imm = tiles});
            }),
            "test: x:16 = tile_row(t, v4): a vector of 16 bytes, a tile's rows have 32");
}

TEST(Modes, StreamingLosesVectors) {
  auto bytes = [](bool enter) {
    return run_written(streaming(), {}, 16, [&](Builder& b, Value, Value to) {
      Value x = b.op(OpCode::zero);
      if (enter) b.op(OpCode::mode_enter, {}, {.imm = stream});
      b.op(OpCode::store, {to, x});
      if (enter) b.op(OpCode::mode_leave, {}, {.imm = stream});
    });
  };
  EXPECT_EQ(bytes(false), Bytes(16));
  EXPECT_NE(bytes(true), Bytes(16));
}

}  // namespace
}  // namespace tw::test
