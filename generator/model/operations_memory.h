// Operations that move vectors from and to memory, and the predicates that govern them. Rows of the
// operation list (operation.h).

OP(load, "n -> v", "o", load, .memory = MemoryUse::reads)
/* one element of b bits to every place */
OP(load_dup, "n -> v", "bo", load_dup, .memory = MemoryUse::reads)
/* replace element #i of b bits */
OP(load_lane, "v n -> v", "bio", load_lane, .memory = MemoryUse::reads,
   .immediate = {"the lane", Last::lane})
/* active lanes of b bits; the others are 0, not touched */
OP(load_pred, "p n -> v", "bo", load_pred, .memory = MemoryUse::reads)
/* the same of the first 128 bits, in every segment */
OP(load_pred_dup, "p n -> v", "bo", load_pred_dup, .whole = Whole::segment,
   .memory = MemoryUse::reads)
/* the low bytes of four i32: the table of table_values, in the place of that of `nibbles` */
OP(table_load, "n", "", table_load, .memory = MemoryUse::reads)
/* entries 2 #i and 2 #i + 1, of 16, from the halves of a 64-bit number: the table of table_nibbles,
   likewise; all eight are put */
OP(table_put, "n", "i", table_put, .immediate = {"the pair", Last::number, 7})
/* -8 to 7 as f16: the table of nibble_halves, in the same place */
OP(table_halves, "", "", table_halves)
/* -8 to 7 as bytes: the table of raised_nibbles, likewise */
OP(table_raised, "", "", table_raised)
OP(store, "n v", "o", store, .memory = MemoryUse::writes)
/* store, not to be kept in caches; aligned to its length */
OP(store_stream, "n v", "o", store_stream, .memory = MemoryUse::writes)
/* earlier store_streams are seen before later stores; here everything happens in order */
OP(store_fence, "", "", nothing)
OP(store_pred, "p n v", "bo", store_pred, .memory = MemoryUse::writes)
/* element #i of b bits */
OP(store_lane, "n v", "bio", store_lane, .memory = MemoryUse::writes,
   .immediate = {"the lane", Last::lane})
/* line at a + offset into L2; no effect on values */
OP(prefetch, "n", "o", nothing, .memory = MemoryUse::prefetches)
OP(prefetch_near, "n", "o", nothing, .memory = MemoryUse::prefetches)  /* into L1 */
OP(prefetch_write, "n", "o", nothing, .memory = MemoryUse::prefetches) /* L1, to be written */

/* predicates: one flag per lane of b bits */
OP(pred_all, "-> p", "b", FLAGS(true))
OP(pred_first, "n -> p", "b", FLAGS(lane < a))                         /* unsigned */
OP(pred_bits, "n -> p", "b", FLAGS(lane < 64 && (a >> lane & 1) != 0)) /* bit j is lane j */
