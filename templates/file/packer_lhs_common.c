enum {
  PANEL = @PANEL@,            // rows of a panel
  DATA_OFFSET = @DATA_OFFSET@,// of the codes in a panel, or in a block
  KR = @KR@,                  // neighbours in k of a row that stay together
  GROUP_BYTES = KR * @CODE_BYTES@,
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  LANES = @LANES@             // of the vectors that inner loops leave behind
};

@QUANTIZE@@PUT_GROUP@// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups) {
@PUT_ALL@  for (size_t g = 0; g < groups; g += 4) {  // K_MULTIPLE is a multiple of 4 groups
    put_group(to, codes);
    put_group(to + PANEL * GROUP_BYTES, codes + KR);
    put_group(to + 2 * PANEL * GROUP_BYTES, codes + 2 * KR);
    put_group(to + 3 * PANEL * GROUP_BYTES, codes + 3 * KR);
    to += 4 * PANEL * GROUP_BYTES;
    codes += 4 * KR;
  }
}
