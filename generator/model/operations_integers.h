// Operations on integers, lane by lane, which wrap around, and products of them, exact in 32 bits.
// Rows of the operation list (operation.h).
// clang-format off

OP(add, "v v -> v", "b", EACH(a + b), .max_bits = 64, .commutes = true)
OP(sub, "v v -> v", "b", EACH(a - b), .max_bits = 64)
OP(mul, "v v -> v", "b", EACH(a * b), .max_bits = 64, .commutes = true) /* low half */
OP(mla, "v v v -> v", "b", EACH(a + b * c), .max_bits = 64)
/* c: 32-bit element #i of each segment */
OP(mla_lane, "i32 i32 i32 -> i32", "i", VECTOR(mla_lane(s, to)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 3})
OP(and_, "v v -> v", "", EACH(a & b), .commutes = true)
OP(or_, "v v -> v", "", EACH(a | b), .commutes = true)
OP(xor_, "v v -> v", "", EACH(a ^ b), .commutes = true)
OP(shl, "v -> v", "bi", EACH(a << i), .max_bits = 64, .immediate = {"the shift", Last::bit})
OP(shr, "v -> v", "bi", EACH(a >> i), .max_bits = 64, .immediate = {"the shift", Last::bit})
/* arithmetic */
OP(sar, "v -> v", "bi", VECTOR(shift_right_signed(s, to)), .max_bits = 64,
   .immediate = {"the shift", Last::bit})
/* AArch64 sli */
OP(shl_insert, "v v -> v", "bi", EACH((b << i) | (a & ((uint64_t{1} << i) - 1))), .max_bits = 64,
   .immediate = {"the shift", Last::bit})
/* AArch64 sri */
OP(shr_insert, "v v -> v", "bi", EACH((b >> i) | (a & ~(ones(s.bits) >> i))), .max_bits = 64,
   .immediate = {"the shift", Last::bit})
/* neighbors of a added, then neighbors of b */
OP(pair_add, "v v -> v", "b", VECTOR(pair_add(s, to)), .max_bits = 64, .whole = Whole::two_lanes)

/* Each byte of a times the matrix of 8 x 8 bits that its 8 bytes have in b (x86 gf2p8affineqb): bit i
   is the parity of what byte 7 - i of the matrix leaves of it */
OP(bit_matrix, "v v -> v", "", VECTOR(bit_matrix(s, to)), .whole = Whole::segment)

/* i32 -> i8, saturating */
OP(narrow_32_8, "i32 -> s8", "", CONVERT(int32_t, saturate<int8_t>(x)), .lengths = Lengths::lanes)
OP(widen_8_32, "s8 -> i32", "", CONVERT(int8_t, int32_t{x}), .lengths = Lengths::lanes)
OP(widen_8_16, "s8 -> s16", "", CONVERT(int8_t, int16_t{x}), .lengths = Lengths::lanes)
/* the upper 16 bits of each lane */
OP(high_half, "i32 -> s16", "", CONVERT(uint32_t, static_cast<uint16_t>(x >> 16)),
   .lengths = Lengths::lanes)
/* per segment: lanes of a, then of b, to lanes half as wide, saturating (x86 packss) */
OP(narrow_pair, "v v -> v", "b", VECTOR(narrow_pair(s, to)), .min_bits = 16, .max_bits = 32,
   .whole = Whole::segment)

/* a + sum of 4 neighbors u8 b * s8 c, per 32-bit lane */
OP(dot4_u8s8, "i32 u8 s8 -> i32", "", VECTOR(dot4<uint8_t>(s, to, same_lane)),
   .work = Work::products)
OP(dot4_s8s8, "i32 s8 s8 -> i32", "", VECTOR(dot4<int8_t>(s, to, same_lane)),
   .work = Work::products)
/* c: 32-bit element #i of each segment */
OP(dot4_s8s8_lane, "i32 s8 s8 -> i32", "i", VECTOR(dot4<int8_t>(s, to, lane_of_segment(s.imm))),
   .whole = Whole::segment, .immediate = {"the lane", Last::number, 3}, .work = Work::products)
/* per segment: a (2x2 i32) + b (2x8) * c (2x8) transposed */
OP(mmla_s8s8, "i32 s8 s8 -> i32", "", VECTOR(mmla(s, to)), .whole = Whole::segment,
   .work = Work::products)
/* sum of 2 neighbors u8 a * s8 b, per 16-bit lane, saturated */
OP(dot2_u8s8_sat, "u8 s8 -> s16", "",
   VECTOR(dot2<uint8_t, int8_t>(s, to, [](int64_t sum) { return saturate<int16_t>(sum); })))
/* sum of 2 neighbors s16 a * s16 b, per 32-bit lane */
OP(dot2_s16, "s16 s16 -> i32", "",
   VECTOR(dot2<int16_t, int16_t>(s, to, [](int64_t sum) { return static_cast<int32_t>(sum); })))
