// Operations on accumulator tiles, and modes. Rows of the operation list (operation.h).

OP(tile_zero, "-> tile", "", clear_tile)
/* rows of memory that are b bytes apart, and back */
OP(tile_load, "n row_bytes -> tile", "o", load_tile, .memory = MemoryUse::reads)
OP(tile_store, "n row_bytes tile", "o", store_tile, .memory = MemoryUse::writes)
/* tile + the product of tiles b and c: element (row, column) grows by the products of every four
   bytes of b's row with four of c's column, whose rows have four bytes of each column */
OP(tile_dot4_s8s8, "tile tile_s8 tile_s8 -> tile", "", (add_tile_product<int8_t, int8_t>),
   .lengths = Lengths::tile_product, .work = Work::products)
OP(tile_dot4_s8u8, "tile tile_s8 tile_u8 -> tile", "", (add_tile_product<int8_t, uint8_t>),
   .lengths = Lengths::tile_product, .work = Work::products)
/* the same of floats: products of the first values of all pairs of 16 bits are added up by fma from
   0 on, those of the second ones, too, then both sums, then that and the tile; denormal numbers are
   0 */
OP(tile_dot2_bf16, "tile_f32 tile_bf16 tile_bf16 -> tile_f32", "", add_tile_product_bf16,
   .lengths = Lengths::tile_product, .work = Work::products)
/* tile + 4-deep outer product of b (rows) and c (columns), for the lanes that are active */
OP(outer_s8s8, "tile s8 s8 p p -> tile", "", add_outer_product<int8_t>,
   .work = Work::outer_products)
/* the same of numbers of 16 bits, two deep */
OP(outer_s16s16, "tile s16 s16 p p -> tile", "", add_outer_product<int16_t>,
   .work = Work::outer_products)
/* the same of floats, one deep, each by one fma */
OP(outer_f32, "tile_f32 f32 f32 p p -> tile_f32", "", add_outer_product_f32,
   .work = Work::outer_products)
/* the same of floats of 16 bits, two deep, each like dot2_bf16_odd */
OP(outer_bf16_odd, "tile_f32 bf16 bf16 p p -> tile_f32", "", add_outer_product_bf16,
   .work = Work::outer_products)
/* those of f16: the sum of both products is rounded once, and then added */
OP(outer_f16, "tile_f32 f16 f16 p p -> tile_f32", "", add_outer_product_f16,
   .work = Work::outer_products)
/* row number (scalar) of a tile of 32-bit elements */
OP(tile_row, "tile row -> v", "", tile_row)
/* a tile with another row b */
OP(tile_put, "tile_f32 row f32 -> tile_f32", "", put_row)
/* dot4_s8s8_lane of b, c, d, e with f added to rows 0, R/4, R/2 and 3R/4 of a tile of R rows; the
   others stay */
OP(tile_dot4_s8s8_lane, "tile s8 s8 s8 s8 s8 -> tile", "i", add_dots<int8_t>,
   .whole = Whole::segment, .immediate = {"the lane", Last::number, 3}, .work = Work::products)
/* the same of pairs of 16 bits, those of f being its lane #i's */
OP(tile_dot2_s16s16_lane, "tile s16 s16 s16 s16 s16 -> tile", "i", add_dots<int16_t>,
   .whole = Whole::segment, .immediate = {"the lane", Last::number, 3}, .work = Work::products)
/* row (b / 4 + #i / 4) mod (R / 4) + #i mod 4 * R / 4 of a tile of R rows; b: a multiple of 4 */
OP(tile_quarter, "tile four_rows -> v", "i", tile_quarter,
   .immediate = {"the row", Last::number, 7})
/* c to f times g to j added by fma to four rows of a tile of R: (b / 4 + #i) mod (R / 4), R/4 below
   that, and so on */
OP(tile_fma4, "tile_f32 four_rows f32 f32 f32 f32 f32 f32 f32 f32 -> tile_f32", "i", add_products,
   .immediate = {"the row", Last::number, 1}, .work = Work::products)
/* those rows, #i being 0, of c to f; the others stay */
OP(tile_put4, "tile_f32 four_rows f32 f32 f32 f32 -> tile_f32", "", put_rows)
/* c to f times g added by fma to those rows, of each 32-bit lane the first or second elements */
OP(tile_fma4_even, "tile_f32 four_rows f16 f16 f16 f16 f16 -> tile_f32", "", add_halves<0>,
   .work = Work::products)
OP(tile_fma4_odd, "tile_f32 four_rows f16 f16 f16 f16 f16 -> tile_f32", "", add_halves<1>,
   .work = Work::products)
/* row (b / 4) mod R of a tile of R rows */
OP(tile_row4, "tile four_rows -> v", "", tile_row4)
/* see Mode */
OP(mode_enter, "", "i", enter_mode, .immediate = {"the mode", Last::number, last_mode, 1})
OP(mode_leave, "", "i", leave_mode, .immediate = {"the mode", Last::number, last_mode, 1})
