    for (size_t at = 0; at < PANEL * BLOCK; ++at) {
      const size_t i = at % @GROUP_BYTES@, column = i / @KR@, k = at / @GROUP_BYTES@ * @KR@ + i % @KR@;
      const unsigned code = source[column * args->lhs_stride + k];
      block[DATA_OFFSET + at] = (uint8_t)(code ^ flip);
      codes[column] += (int32_t)(code ^ 128) - 128;
    }
