#include "kleidiai/problem.h"

#include <algorithm>

namespace tw::test {
namespace {

float real(std::mt19937& random, float from, float to) {
  return std::uniform_real_distribution<float>(from, to)(random);
}

float value(Rows rows, std::mt19937& random) {
  switch (rows) {
    case Rows::positive:
      return real(random, 0, 4);
    case Rows::negative:
      return real(random, -4, 0);
    case Rows::zeros:
      return 0;
    case Rows::equal:
      return 1.5F;
    case Rows::ties:
      return static_cast<float>(random() % 511) / 2 - 100;
    case Rows::extreme:
      return real(random, -3, 3) + (random() % 2 == 0 ? 4 : -4);
    default:
      return real(random, -3, 5);
  }
}

int exponent(Rows rows, std::mt19937& random) {
  switch (rows) {
    case Rows::ties:
      return static_cast<int>(random() % 9) - 4;
    case Rows::magnitude:
      return static_cast<int>(random() % 81) - 40;
    case Rows::extreme:
      return random() % 2 == 0 ? 124 : -118;
    default:
      return 0;
  }
}

}  // namespace

int Weights::code(size_t column, size_t depth) const {
  const size_t row = kxn ? depth : column;
  const size_t at = kxn ? column : depth;
  const int nibble = nibbles[row * row_bytes() + at / 2] >> (at % 2 * 4) & 15;
  return unsigned_nibbles ? nibble - 8 : (nibble ^ 8) - 8;
}

Activations make_activations(const Shape& shape, Rows rows, std::mt19937& random) {
  Activations out{shape.m, shape.k, std::vector<float>(shape.m * shape.k)};
  for (size_t row = 0; row < shape.m; ++row) {
    float* const begin = out.values.data() + row * shape.k;
    float* const end = begin + shape.k;
    std::generate(begin, end, [&] { return value(rows, random); });
    if (rows == Rows::outlier) begin[random() % shape.k] = real(random, -5000, 5000);
    if (rows == Rows::ties) {  // codes 1 apart, or a power of two
      *begin = -100;
      *(end - 1) = 155;
    }
    const int size = exponent(rows, random);
    std::transform(begin, end, begin, [&](float x) { return std::ldexp(x, size); });
  }
  return out;
}

Weights make_weights(const Shape& shape, bool kxn, int spread, std::mt19937& random) {
  Weights out;
  out.n = shape.n;
  out.k = shape.k;
  out.kxn = kxn;
  out.unsigned_nibbles = random() % 2 == 0;
  out.nibbles.resize((kxn ? shape.k : shape.n) * out.row_bytes());
  for (uint8_t& byte : out.nibbles) byte = static_cast<uint8_t>(random());
  for (size_t i = 0; i < shape.n; ++i) {
    const int size = random() % 4 == 0
                         ? static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread
                         : 0;
    out.scales.push_back(std::ldexp(real(random, -0.02F, 0.02F), size));
  }
  if (random() % 4 != 0) {
    for (size_t i = 0; i < shape.n; ++i) out.bias.push_back(real(random, -3, 3));
  }
  return out;
}

std::vector<Shape> shapes(size_t mr, size_t nr) {
  std::vector<Shape> all;
  const size_t depths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 95, 97, 160, 257, 600};
  size_t turn = 0;
  for (const size_t k : depths) {
    for (size_t m : {size_t{1}, mr, mr + 1, 2 * mr + 3, size_t{17}}) {
      const size_t columns[] = {1, nr - 1, nr, nr + 1, 3 * nr + 2, 33};
      all.push_back({m, columns[turn++ % std::size(columns)], k});
    }
  }
  return all;
}

}  // namespace tw::test
