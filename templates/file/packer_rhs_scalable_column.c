// A vector of `half` columns in its high nibbles and as many behind them in its low ones, KR values
// of k each. `column` is of the operand, `end` behind its last one.
static void pack_vector(const tw_pack_args *args, uint8_t *to, uint8_t *sums, size_t half,
                        size_t column, size_t end, size_t k) {
  for (size_t i = 0; i < half; ++i) {
    for (size_t j = 0; j < KR; ++j) {
      const unsigned high = code_at(args, column + i, end, k + j);
      const unsigned low = code_at(args, column + half + i, end, k + j);
      *to++ = (uint8_t)((high << 4 | low) ^ @FLIP@);
      add_sum(sums + i * sizeof(int32_t), high);
      add_sum(sums + (half + i) * sizeof(int32_t), low);
    }
  }
}
