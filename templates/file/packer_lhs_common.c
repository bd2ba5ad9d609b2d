enum {
  MOST_ROWS = @MOST_ROWS@,    // of a panel
  KR = @KR@,                  // neighbors in k of a row that stay together
  CODE_BYTES = @CODE_BYTES@,
  GROUP_BYTES = KR * CODE_BYTES,
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  LANES = @LANES@             // of the vectors that inner loops leave behind
};

@QUANTIZE@@PUT_GROUP@// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups, size_t panel) {
@PUT_ALL@  const size_t step = panel * GROUP_BYTES;
  for (size_t g = 0; g < groups; g += 4) {  // K_MULTIPLE is a multiple of 4 groups
    put_group(to, codes);
    put_group(to + step, codes + KR);
    put_group(to + 2 * step, codes + 2 * KR);
    put_group(to + 3 * step, codes + 3 * KR);
    to += 4 * step;
    codes += 4 * KR;
  }
}

// A value `copies` times; `usual` is a constant, so that this many take no loop.
static void store_copies(uint8_t *to, int32_t value, size_t copies, size_t usual) {
  if (copies == usual) {
    for (size_t i = 0; i < usual; ++i) tw_store_i32(to + 4 * i, value);
  } else {
    for (size_t i = 0; i < copies; ++i) tw_store_i32(to + 4 * i, value);
  }
}

// A sum of codes as the layout keeps it.
static int32_t kept_sum(const tw_pack_args *args, int32_t sum) {
  return tw_add_i32(tw_mul_i32(sum, args->sum_factor), args->sum_base);
}
