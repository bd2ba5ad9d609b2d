
// A sum of codes as the layout keeps it.
static int32_t kept_sum(const tw_pack_args *args, int32_t sum) {
  return tw_add_i32(tw_mul_i32(sum, args->sum_factor), args->sum_base);
}
