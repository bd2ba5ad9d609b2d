#include "lower/pack_rhs.h"

#include <cstdlib>

#include "lower/pack_convert.h"

namespace tw {

bool is_plain_panel(const Layout& layout) {
  const Field* data = find_field(layout, FieldKind::data);
  const Field* sums = summed_field(layout);
  const bool parts = bits(layout.element) < 8 && layout.order.pair != NibblePair::none;
  if ((!parts && layout.element != ElementType::i8) || layout.block != 0 ||
      !layout.panel.is_fixed() || data == nullptr || sums == nullptr || sums < data) {
    return false;
  }
  return sums->type == ElementType::i32 && sums->factor == CodeSums::factor(layout) &&
         sums->repeat == 1;
}

bool has_all(const Isa& isa, std::initializer_list<const char*> operations) {
  for (const std::string operation : operations) {
    const size_t dot = operation.find('.');
    const auto code = find_operation(operation.substr(0, dot));
    const int bits = dot == std::string::npos ? 0 : std::atoi(operation.c_str() + dot + 1);
    if (!code || !isa.has(*code, bits)) return false;
  }
  return true;
}

void PackedStore::operator()(Value pointer, int64_t offset, size_t vector, Value codes,
                             std::span<Value> carried) const {
  const Value flipped = flip != no_value ? b.op(OpCode::xor_, {codes, flip}) : codes;
  sums.add(carried, vector, flipped);
  b.op(stream ? OpCode::store_stream : OpCode::store, {pointer, flipped}, {.offset = offset});
}

void for_runs(Builder& b, Value first_k, Value steps, int64_t step, Value end,
              const std::function<void(Value k, Value copied)>& body, int64_t at_once) {
  const Value zero = b.constant(0);
  const Value one = b.constant(1);
  const int64_t copied_step = step * at_once;
  const Value whole_end = plus(b, {first_k, times(b, steps, step)}, "whole_end");
  const Value rest = b.add(b.op(OpCode::isub, {end, whole_end}), copied_step - 1);
  const Value runs = plus(b, {over(b, rest, copied_step), choose(b, {steps, one, zero})}, "runs");
  const Value k = b.op(OpCode::icopy, {first_k}, {}, "k");
  b.loop("run", runs, {k, choose(b, {steps, zero, one}, "copied")},
         [&](const std::vector<Value>& now) {
           body(now[0], now[1]);
           return std::vector<Value>{
               choose(b, {now[1], b.add(now[0], copied_step), whole_end}, "k"),
               number(b, 1, "copied")};
         });
}

std::vector<Value> strided(Builder& b, Value from, Value stride, int64_t first, int64_t count,
                           const std::string& name) {
  std::vector<Value> out;
  Value at = from;
  for (int64_t i = 0; i < first + count; ++i) {
    if (i > 0) at = b.op(OpCode::iadd, {at, stride}, {}, name);
    if (i >= first) out.push_back(at);
  }
  return out;
}

PackRows rows_of_panel(Builder& b, const Panel& panel, Value stride) {
  return {plus(b, {b.arg(ArgField::pack_source), product(b, {panel.row, stride})}, "source"),
          stride};
}

PackRows rows_or_copies(Builder& b, const PackRows& rows, Value copied, const PackRows& copies,
                        const std::function<void()>& copy) {
  b.branch(copied, Compare::not_equal, b.constant(0), copy);
  return {choose(b, {copied, copies.first, rows.first}, "from"),
          choose(b, {copied, copies.stride, rows.stride}, "stride")};
}

void fetch_rows(Builder& b, Value from, int64_t bytes) {
  if (!b.isa().has(OpCode::prefetch_near)) return;
  for (int64_t line = 0; line < bytes; line += 64) {
    b.op(OpCode::prefetch_near, {from}, {.offset = line});
  }
}

void for_rows(Builder& b, const Layout& layout, const char* name, Value rows,
              std::vector<Value> from_to, const Builder::Body& body) {
  if (layout.edge != Edge::last) {
    b.loop(name, rows, from_to, body);
    return;
  }
  from_to.push_back(less(b, {rows, b.constant(1)}, "following"));
  b.loop(name, length(b, layout.panel), from_to, [&](const std::vector<Value>& at) {
    std::vector<Value> next = body(at);
    next[0] = choose(b, {at[2], next[0], at[0]}, "row");
    next.push_back(less(b, {at[2], b.constant(1)}, "following"));
    return next;
  });
}

void pack_run(Builder& b, const PackRun& run, bool streams, Value copied,
              const std::function<void(const PackRun&, bool stream)>& pack) {
  if (!streams) return pack(run, false);
  const Value stride = b.arg(ArgField::pack_packed_stride);
  const Value both = plus(b, {b.op(OpCode::iand_imm, {run.packed}, {.imm = 63}),
                              b.op(OpCode::iand_imm, {stride}, {.imm = 63})});
  const Value plain = copied == no_value ? both : plus(b, {both, copied});
  b.branch(
      plain, Compare::equal, b.constant(0), [&] { pack(run, true); }, [&] { pack(run, false); });
}

bool can_pack(const Layout& layout, const Source& source, const Isa& isa) {
  if (!isa.can_print_c) return false;
  if (converts(source, layout) && !RowConverter::possible(layout, source, isa)) return false;
  if (is_row(layout)) return true;
  if (layout.block != 0) return can_pack_blocks(layout, source, isa);
  return rows_are_k(source) ? can_pack_kxn(layout, source, isa) : can_pack_nxk(layout, source, isa);
}

Program lower_packer(const std::string& name, const Layout& layout, const Source& source,
                     const Isa& isa) {
  Builder b(name, isa);
  if (!can_pack(layout, source, isa)) {
    lower_pack_plain(b, layout, source);
  } else if (is_row(layout)) {
    lower_pack_float_rows(b, layout, source);
  } else if (layout.block != 0) {
    lower_pack_blocks(b, layout, source);
  } else {
    rows_are_k(source) ? lower_pack_kxn(b, layout, source) : lower_pack_nxk(b, layout, source);
  }
  if (find_field(layout, FieldKind::sums) != summed_field(layout)) finish_columns(b, layout);
  return b.finish();
}

bool can_stream(const Isa& isa) {
  return isa.has(OpCode::store_stream) && isa.has(OpCode::store_fence);
}

}  // namespace tw
