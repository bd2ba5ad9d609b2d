// Operations on scalars: 64 bits that wrap around. Rows of the operation list (operation.h).
// clang-format off

/* field #i (ArgField) of the tw_args or tw_pack_args at a, or its address (is_address) */
OP(arg, "n -> n", "i", argument,
   .immediate = {"the field", Last::number, static_cast<int64_t>(ArgField::all_count) - 1})
OP(constant, "-> n", "i", SCALAR(i))
OP(length, "-> n", "o", SCALAR(i)) /* the value of a Length at run time */
OP(iadd, "n n -> n", "", SCALAR(a + b), .commutes = true)
OP(iadd_imm, "n -> n", "o", SCALAR(a + i)) /* a + Length: pointer steps */
OP(isub, "n n -> n", "", SCALAR(a - b))
OP(imul, "n n -> n", "", SCALAR(a * b), .commutes = true)
OP(ishl, "n -> n", "i", SCALAR(a << i), .immediate = {"the shift", Last::number, 63})
OP(ishr, "n -> n", "i", SCALAR(a >> i), .immediate = {"the shift", Last::number, 63}) /* logical */
OP(iand_imm, "n -> n", "i", SCALAR(a & i))
OP(imin, "n n -> n", "", SCALAR(a < b ? a : b), .commutes = true)  /* unsigned */
OP(isub_sat, "n n -> n", "", SCALAR(a > b ? a - b : 0))            /* unsigned */
OP(idiv, "n divisor -> n", "", SCALAR(divide(a, b)), .slow = true) /* unsigned, b > 0 */
OP(if_null, "n n n -> n", "", SCALAR(a == 0 ? b : c))
OP(low_bits, "n below_256 -> n", "",
   SCALAR(low_bits(a, b))) /* the low b bits of a; from 64 on: a */
OP(load_i64, "n -> n", "o", load_number, .memory = MemoryUse::reads)
OP(load_pointer, "n -> n", "o", load_number, .memory = MemoryUse::reads) /* which may be read at */
OP(store_i64, "n n", "o", store_number, .memory = MemoryUse::writes) /* store_i64(p, x) */
/* b bits, the rest of the number is 0; the low b bits. Printed as C only, as are the next two */
OP(load_scalar, "n -> n", "bo", load_scalar, .memory = MemoryUse::reads)
OP(store_scalar, "n n", "bo", store_scalar, .memory = MemoryUse::writes)
/* c bytes from b to a, which do not overlap, at most #i of them, where #i is not 0; c bytes that are
 * all b, at a */
OP(copy_bytes, "n n n", "i", copy_bytes, .memory = MemoryUse::writes, .slow = true)
OP(fill_bytes, "n n n", "", fill_bytes, .memory = MemoryUse::writes, .slow = true)
/* scalar slot #i of the function's own frame */
OP(frame_load, "-> n", "i", frame_load, .memory = MemoryUse::reads,
   .immediate = {"the frame slot", Last::slot}, .slow = true)
OP(frame_store, "n", "i", frame_store, .memory = MemoryUse::writes,
   .immediate = {"the frame slot", Last::slot}, .slow = true)
/* address of the function's own Program::scratch_bytes of memory */
OP(scratch, "-> n", "", scratch)
OP(icopy, "n -> n", "", SCALAR(a)) /* a copy that allocation may need */
