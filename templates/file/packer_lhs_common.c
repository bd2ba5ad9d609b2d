enum {
  MOST_ROWS = @MOST_ROWS@,    // of a panel
  KR = @KR@,                  // neighbors in k of a row that stay together
  CODE_BYTES = @CODE_BYTES@,
  GROUP_BYTES = KR * CODE_BYTES,
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  LANES = @LANES@             // of the vectors that inner loops leave behind
};

@QUANTIZE@@PUT_GROUP@// A row's groups of KR codes to their places between those of the panel's other rows.
static inline void put_groups(uint8_t *to, const int8_t *codes, size_t groups, size_t panel) {
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
@COPIES@@KEPT_SUM@