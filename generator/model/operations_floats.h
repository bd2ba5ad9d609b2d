// Operations on f32 lanes: to nearest even, one rounding each. A result of arithmetic that is a NaN
// may have any sign and payload. Rows of the operation list (operation.h).
// clang-format off

OP(fadd, "f32 f32 -> f32", "", FLOATS(a + b), .commutes = true)
OP(fdiv, "f32 f32 -> f32", "", FLOATS(a / b), .slow = true)
OP(fsub, "f32 f32 -> f32", "", FLOATS(a - b))
OP(fmul, "f32 f32 -> f32", "", FLOATS(a * b), .commutes = true)
/* b: 32-bit element #i of each segment */
OP(fmul_lane, "f32 f32 -> f32", "i", VECTOR(fmul_lane(s, to)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 3})
OP(fma, "f32 f32 f32 -> f32", "", FLOATS(fused(a, b, c)), .work = Work::products, .commutes = true)
/* b: 32-bit element #i of each segment */
OP(fma_lane, "f32 f32 f32 -> f32", "i", VECTOR(fma_lane(s, to)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 3}, .work = Work::products)
/* b where one is a NaN, or both are zeros, on every ISA */
OP(fmin, "f32 f32 -> f32", "", FLOATS(a < b ? a : b))
OP(fmax, "f32 f32 -> f32", "", FLOATS(a > b ? a : b))
/* IEEE 754's: a NaN where one is, and of two zeros the negative one, or the positive one */
OP(fminimum, "f32 f32 -> f32", "", FLOATS(minimum(a, b)), .commutes = true)
OP(fmaximum, "f32 f32 -> f32", "", FLOATS(maximum(a, b)), .commutes = true)
/* the same of f16 */
OP(fminimum_f16, "f16 f16 -> f16", "", VECTOR(fminimum_f16(s, to, 1)))
OP(fmaximum_f16, "f16 f16 -> f16", "", VECTOR(fminimum_f16(s, to, -1)))
OP(cvt_i32_f32, "i32 -> f32", "", CONVERT(int32_t, static_cast<float>(x)))
/* #i of its bits are behind the point */
OP(cvt_fixed_f32, "i32 -> f32", "i", VECTOR(convert_fixed(s, to)),
   .immediate = {"the bits of the fraction", Last::number, 31, 1})
/* to nearest even, in range */
OP(cvt_f32_i32, "i32_float -> i32", "", CONVERT(float, static_cast<int32_t>(std::lrint(in_i32(x)))))
/* to nearest, ties away from zero, in range */
OP(cvt_f32_i32_away, "i32_float -> i32", "",
   CONVERT(float, static_cast<int32_t>(std::lround(in_i32(x)))))
OP(cvt_f16_f32, "f16 -> f32", "", CONVERT(uint16_t, half_to_float(x)), .lengths = Lengths::lanes)
OP(cvt_bf16_f32, "bf16 -> f32", "", CONVERT(uint16_t, uint32_t{x} << 16), .lengths = Lengths::lanes)
/* to nearest even; a NaN becomes a quiet one */
OP(cvt_f32_f16, "f32 -> f16", "", CONVERT(float, float_to_half(x)), .lengths = Lengths::lanes)
/* the lower or upper half of each segment of a times 16-bit element #i of that segment of b, added
   to c: products of f16 are exact in f32 */
OP(fma_lo_f16, "f16 f16 f32 -> f32", "i", VECTOR(fma_f16(s, to, 0)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 7}, .work = Work::products)
OP(fma_hi_f16, "f16 f16 f32 -> f32", "i", VECTOR(fma_f16(s, to, 4)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 7}, .work = Work::products)
/* the first or second element of each 32-bit lane of a times that of b, added to c */
OP(fma_even_f16, "f16 f16 f32 -> f32", "", VECTOR(fma_f16_of_pair(s, to, 0)),
   .work = Work::products)
OP(fma_odd_f16, "f16 f16 f32 -> f32", "", VECTOR(fma_f16_of_pair(s, to, 1)),
   .work = Work::products)
/* f16, rounded once */
OP(fmul_f16, "f16 f16 -> f16", "", VECTOR(fmul_f16(s, to)), .commutes = true)
/* f16, rounded once; b: 16-bit element #i of each segment */
OP(fma_f16_lane, "f16 f16 f16 -> f16", "i", VECTOR(fma_f16_lane(s, to)), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 7}, .work = Work::products)
/* the lower or upper half of each segment */
OP(cvt_lo_f16_f32, "f16 -> f32", "", VECTOR(widen_f16(s, to, 0)), .whole = Whole::segment)
OP(cvt_hi_f16_f32, "f16 -> f32", "", VECTOR(widen_f16(s, to, 4)), .whole = Whole::segment)
/* of the lower half of a (#0), the upper (#1) */
OP(cvt_f16_f32_half, "f16 -> f32", "i", VECTOR(widen_f16_half(s, to)),
   .immediate = {"the half", Last::number, 1})
/* the first or second element of each 32-bit lane, and what cvt_f32_f16 makes of a and b there */
OP(cvt_even_f16_f32, "f16 -> f32", "", VECTOR(widen_f16_of_pair(s, to, 0)))
OP(cvt_odd_f16_f32, "f16 -> f32", "", VECTOR(widen_f16_of_pair(s, to, 1)))
OP(join_f16, "f32 f32 -> f16", "", VECTOR(join_f16(s, to)))
/* two products of neighbors added to a, the second first, each by one fma; of all numbers the
   denormal ones are 0 (x86 vdpbf16ps) */
OP(dot2_bf16, "f32 bf16 bf16 -> f32", "", VECTOR(dot2_bf16(s, to, dot2_fused, same_lane)),
   .work = Work::products)
/* a + (the sum of two products of neighbors), both sums and the products rounded to odd, denormal
   numbers 0 (AArch64 without EBF16) */
OP(dot2_bf16_odd, "f32 bf16 bf16 -> f32", "", VECTOR(dot2_bf16(s, to, dot2_to_odd, same_lane)),
   .work = Work::products)
/* c: 32-bit element #i of each segment */
OP(dot2_bf16_odd_lane, "f32 bf16 bf16 -> f32", "i",
   VECTOR(dot2_bf16(s, to, dot2_to_odd, lane_of_segment(s.imm))), .whole = Whole::segment,
   .immediate = {"the lane", Last::number, 3}, .work = Work::products)
/* per segment: a (2x2 f32) + b (2x4) * c (2x4) transposed, two values of k after the other two,
   each like dot2_bf16_odd */
OP(mmla_bf16_odd, "f32 bf16 bf16 -> f32", "", VECTOR(mmla_bf16(s, to)), .whole = Whole::segment,
   .work = Work::products)
