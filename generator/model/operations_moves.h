// Operations that make vectors or move their lanes. A segment is a 128-bit part of a vector. Rows
// of the operation list (operation.h).

OP(zero, "-> v", "", VECTOR(std::memset(to, 0, s.to.bytes)))
/* #i in every lane of b bits */
OP(splat, "-> v", "bi", VECTOR(everywhere(s, reinterpret_cast<const uint8_t*>(&s.imm), to)),
   .max_bits = 64, .immediate = {"the value", Last::value})
/* low b bits of a scalar in every lane */
OP(dup, "n -> v", "b", VECTOR(everywhere(s, s.arg[0].at, to)), .max_bits = 64)
/* element #i of b bits to every place */
OP(dup_lane, "v -> v", "bi", VECTOR(everywhere(s, s.arg[0].at + s.imm * (s.bits / 8), to)),
   .lengths = Lengths::any, .immediate = {"the lane", Last::lane})
/* a0 b0 a1 b1 ... of each segment's low half, and of its high half */
OP(zip_lo, "v v -> v", "b", VECTOR(zip(s, 0, to)), .max_bits = 64, .whole = Whole::segment)
OP(zip_hi, "v v -> v", "b", VECTOR(zip(s, 1, to)), .max_bits = 64, .whole = Whole::segment)
/* even lanes of a, then even lanes of b (whole vectors), and the odd ones */
OP(uzp_even, "v v -> v", "b", VECTOR(unzip(s, 0, to)), .whole = Whole::two_lanes)
OP(uzp_odd, "v v -> v", "b", VECTOR(unzip(s, 1, to)), .whole = Whole::two_lanes)
/* each lane twice: of the lower half of a (#0), the upper (#1) */
OP(twice, "v -> v", "bi", VECTOR(twice(s, to)), .whole = Whole::two_lanes,
   .immediate = {"the half", Last::number, 1})
/* x86 shuf_32x4: the lower half of the segments from a, the upper from b, by bits of #i */
OP(move_segments, "v v -> v", "i", VECTOR(move_segments(s, to)), .whole = Whole::two_segments,
   .lengths = Lengths::two_or_four_segments,
   .immediate = {"the choice of segments", Last::choice_of_segments})
/* lane j of b where bit j of #i is set, else of a */
OP(blend, "v v -> v", "bi", VECTOR(blend(s, to)), .min_bits = 32, .max_bits = 64,
   .immediate = {"the choice of lanes", Last::choice_of_lanes})
/* signed 4-bit numbers as bytes, low nibbles first: of the lower half of a (#0), the upper (#1) */
OP(nibbles, "v -> v", "i", nibbles, .immediate = {"the half", Last::number, 1})
/* the same of unsigned ones that are 8 above, from a table */
OP(raised_nibbles, "v -> v", "i", raised_nibbles, .immediate = {"the half", Last::number, 1})
/* the low bytes of the entries of the table that was put which nibbles are the numbers of, low
   nibbles first: of half #i of a */
OP(table_nibbles, "v -> v", "i", table_nibbles, .immediate = {"the half", Last::number, 1})
/* signed bytes that codes of 2 bits stand for in the table that was loaded, low codes first: of
   quarter #i of a */
OP(table_values, "v -> v", "i", table_values, .immediate = {"the quarter", Last::number, 3})
/* f16 that nibbles stand for in that table, which are 8 above, low nibbles first: of quarter #i */
OP(nibble_halves, "v -> v", "i", nibble_halves, .immediate = {"the quarter", Last::number, 3})
/* per segment: the byte of a that each byte of b is the number of */
OP(look_up, "v below_16 -> v", "", VECTOR(look_up(s, to)), .whole = Whole::segment)
/* the same; 0 for numbers from 16 on (AArch64 tbl) */
OP(look_up_or_zero, "v v -> v", "", VECTOR(look_up_or_zero(s, to)), .whole = Whole::segment)
/* per 32-bit lane: likewise, of the 16 bytes that a, b, c and d have there */
OP(look_up_lanes, "i32 i32 i32 i32 below_16 -> v", "", VECTOR(look_up_lanes(s, to)))
/* per 32-bit lane: the lane of a that the low bits of b's are the number of */
OP(look_up_32, "v v -> v", "", VECTOR(look_up_32(s, to)), .whole = Whole::two_lanes)
/* segment #i: 16 bytes */
OP(segment, "v -> v", "i", VECTOR(std::memcpy(to, s.arg[0].at + s.imm * 16, 16)),
   .whole = Whole::segment, .lengths = Lengths::one_segment,
   .immediate = {"the segment", Last::segment})
/* per 32 bytes: 64-bit lane j is lane (#i >> 2 j & 3) */
OP(permute_64, "v -> v", "i", VECTOR(permute_64(s, to)), .whole = Whole::two_segments,
   .immediate = {"the choice of lanes", Last::number, 255})
/* a copy that allocation may need */
OP(copy, "v -> v", "", copy)
