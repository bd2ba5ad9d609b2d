    for (size_t at = 0; at < PANEL * BLOCK / 2; ++at) {
      const size_t group = at / @GROUP_BYTES@, i = at % @GROUP_BYTES@;
      const size_t low_column = @LOW_COLUMN@, high_column = @HIGH_COLUMN@;
      size_t k = @FIRST_K@ + @LOW_K@;
      const uint8_t *const low_from = source + low_column * args->lhs_stride + @SOURCE_BYTE@;
      const unsigned low = (unsigned)*low_from >> @SOURCE_SHIFT@ & 15;
      k = @FIRST_K@ + @HIGH_K@;
      const uint8_t *const high_from = source + high_column * args->lhs_stride + @SOURCE_BYTE@;
      const unsigned high = (unsigned)*high_from >> @SOURCE_SHIFT@ & 15;
      const unsigned byte = (low | high << 4) ^ flip;
      block[DATA_OFFSET + at] = (uint8_t)byte;
      codes[low_column] += (int32_t)((byte & 15) ^ @LOW_SIGN@) - 8;
      codes[high_column] += (int32_t)((byte >> 4) ^ @HIGH_SIGN@) - 8;
    }
