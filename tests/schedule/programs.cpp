#include "programs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>

namespace tw::test {

const Isa& fake_isa(const std::string& name) {
  static IsaLibrary library(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/fake_isa");
  return library.get(name);
}

const Isa& shipped_isa(const std::string& name) {
  static IsaLibrary library(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  return library.get(name);
}

std::vector<uint8_t> result_of(const Program& program, const std::vector<uint64_t>& counts,
                               bool physical) {
  Memory memory;
  Arguments arguments;
  std::vector<uint8_t> source(source_bytes);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 37 + i / 16);
  const uint64_t dst = memory.add("dst", std::vector<uint8_t>(target_bytes, 7), true);
  auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  set(ArgField::lhs, memory.add("lhs", source, false));
  set(ArgField::dst, dst);
  set(ArgField::k, counts.at(0));
  set(ArgField::m, counts.at(1));
  set(ArgField::n, counts.at(2));
  run(program, arguments, memory, {.vl = {}, .physical = physical});
  return memory.bytes(dst);
}

namespace {

/// Values that may be used, per region.
struct Pool {
  std::vector<Value> vectors, scalars;
};

class RandomWriter {
 public:
  RandomWriter(const Isa& isa, uint32_t seed) : b_("random", isa), engine_(seed) {}

  Program write() {
    source_ = b_.arg(ArgField::lhs);
    target_ = b_.arg(ArgField::dst);
    Pool pool;
    pool.scalars = {b_.arg(ArgField::m), b_.constant(3)};
    pool.vectors = {load(source_, source_bytes), b_.op(OpCode::zero)};
    statements(pool, below(12) + 6, 0);
    for (size_t i = 0; i < pool.vectors.size(); ++i) {
      b_.op(OpCode::store, {target_, pool.vectors[i]}, {.offset = static_cast<int64_t>(16 * i)});
    }
    for (size_t i = 0; i < pool.scalars.size(); ++i) {
      b_.op(OpCode::store_i64, {target_, pool.scalars[i]},
            {.offset = static_cast<int64_t>(target_bytes - 8 * (i + 1))});
    }
    return b_.finish();
  }

 private:
  static constexpr size_t most_vectors = 4;
  static constexpr size_t most_scalars = 3;

  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint32_t>(n)); }
  Value any(const std::vector<Value>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }

  Value load(Value pointer, int64_t bytes) {
    const int64_t offset = 16 * below(bytes / 16);
    if (below(3) == 0) {
      return b_.op(OpCode::load_dup, {pointer}, {.bits = 32, .offset = offset}, "dup");
    }
    return b_.op(OpCode::load, {pointer}, {.offset = offset}, "loaded", Role::operand);
  }

  void keep(std::vector<Value>& values, size_t most, Value v) {
    if (values.size() < most) {
      values.push_back(v);
    } else {
      values[static_cast<size_t>(below(static_cast<int64_t>(most)))] = v;
    }
  }

  void vector_statement(Pool& pool) {
    const Value a = any(pool.vectors);
    const Value b = any(pool.vectors);
    Value made = no_value;
    switch (below(10)) {
      case 0:
        made = b_.op(OpCode::add, {a, b}, {.bits = 32});
        break;
      case 1:
        made = b_.op(OpCode::sub, {a, b}, {.bits = 32});
        break;
      case 2:
        made = b_.op(OpCode::xor_, {a, b});
        break;
      case 3:
        made = b_.op(OpCode::shr, {a}, {.bits = 16, .imm = 3});
        break;
      case 4:
        made = b_.op(OpCode::zip_lo, {a, b}, {.bits = 32});
        break;
      case 5:
      case 6:
        made = b_.op(OpCode::dot4_u8s8, {a, b, load(source_, source_bytes)}, {}, "dot",
                     Role::accumulator);
        break;
      case 7:
        made = b_.op(OpCode::dup, {any(pool.scalars)}, {.bits = 32});
        break;
      default:
        made = load(source_, source_bytes);
    }
    keep(pool.vectors, most_vectors, made);
  }

  void scalar_statement(Pool& pool) {
    const Value a = any(pool.scalars);
    const Value b = any(pool.scalars);
    const OpCode codes[] = {OpCode::iadd, OpCode::isub, OpCode::imin, OpCode::isub_sat};
    Value made = b_.op(codes[below(4)], {a, b});
    if (below(3) == 0) made = b_.add(made, below(100) + 1);
    keep(pool.scalars, most_scalars, made);
  }

  /// Stores and reads again what may or may not have been stored over.
  void memory_statement(Pool& pool) {
    b_.op(OpCode::store, {target_, any(pool.vectors)}, {.offset = 16 * below(16)});
    if (below(2) == 0) keep(pool.vectors, most_vectors, load(target_, 256));
  }

  void loop_statement(Pool& pool, int depth) {
    const ArgField counts[] = {ArgField::k, ArgField::m, ArgField::n};
    const Value count = b_.arg(counts[below(3)]);
    std::vector<Value> inits;
    for (int64_t i = below(3); i >= 0; --i) inits.push_back(any(pool.vectors));
    const size_t vectors = inits.size();
    inits.push_back(any(pool.scalars));
    const bool hot = depth > 0 || below(2) == 0;
    // In a hot loop a pointer walks through the source, four vectors an iteration.
    if (hot) inits.push_back(source_);
    auto body = [&](const std::vector<Value>& params) {
      Pool inside = pool;
      inside.vectors.resize(std::min<size_t>(inside.vectors.size(), 1));
      inside.vectors.insert(inside.vectors.end(), params.begin(),
                            params.begin() + static_cast<long>(vectors));
      inside.scalars = {params[vectors], pool.scalars[0]};
      if (hot) {
        hot_statements(inside, params.back());
      } else {
        statements(inside, below(5) + 1, depth + 1);
      }
      std::vector<Value> yields;
      for (size_t i = 0; i < vectors; ++i) yields.push_back(any(inside.vectors));
      yields.push_back(any(inside.scalars));
      if (hot) yields.push_back(b_.add(params.back(), 64));
      return yields;
    };
    const std::vector<Value> results =
        hot ? b_.hot_loop("k", count, inits, 1, body) : b_.loop("loop", count, inits, body);
    for (size_t i = 0; i < vectors; ++i) keep(pool.vectors, most_vectors, results[i]);
    keep(pool.scalars, most_scalars, results[vectors]);
  }

  void hot_statements(Pool& pool, Value pointer) {
    for (int64_t i = 0; i < 4; ++i) {
      const Value v = b_.op(OpCode::load, {pointer}, {.offset = 16 * i}, "stream", Role::operand);
      pool.vectors[static_cast<size_t>(below(static_cast<int64_t>(pool.vectors.size())))] =
          b_.op(OpCode::dot4_u8s8, {any(pool.vectors), v, any(pool.vectors)}, {}, "acc",
                Role::accumulator);
    }
    if (below(2) == 0) vector_statement(pool);
    if (below(2) == 0) scalar_statement(pool);
  }

  void branch_statement(Pool& pool, int depth) {
    auto body = [&] {
      Pool inside = pool;
      memory_statement(inside);
      statements(inside, below(3), depth + 1);
      memory_statement(inside);
    };
    const Compare compares[] = {Compare::equal, Compare::not_equal, Compare::below,
                                Compare::at_least};
    const Compare compare = compares[below(4)];
    if (below(2) == 0) {
      b_.branch(any(pool.scalars), compare, any(pool.scalars), body);
    } else {
      b_.branch(any(pool.scalars), compare, any(pool.scalars), body, body);
    }
  }

  void statements(Pool& pool, int64_t count, int depth) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t choice = below(12);
      if (choice < 5) {
        vector_statement(pool);
      } else if (choice < 7) {
        scalar_statement(pool);
      } else if (choice < 9) {
        memory_statement(pool);
      } else if (choice < 11 && depth < 2) {
        loop_statement(pool, depth);
      } else if (depth < 2) {
        branch_statement(pool, depth);
      }
    }
  }

  Builder b_;
  std::mt19937 engine_;
  Value source_ = no_value;
  Value target_ = no_value;
};

const Loop* first_hot(const Region& region) {
  for (const Node& node : region.nodes) {
    const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node);
    if (loop == nullptr) continue;
    if ((*loop)->hot) return loop->get();
    if (const Loop* inner = first_hot((*loop)->body)) return inner;
  }
  return nullptr;
}

}  // namespace

Program random_program(const Isa& isa, uint32_t seed) {
  return RandomWriter(isa, seed).write();
}

std::vector<std::string> hot_rows(const Program& program) {
  const Loop* loop = first_hot(program.body);
  if (loop == nullptr) throw std::logic_error("the Program has no hot loop");
  std::vector<std::string> names;
  for (const Node& node : loop->body.nodes) names.push_back(std::get<Op>(node).row->name);
  return names;
}

std::vector<std::string> all_rows(Program& program) {
  std::vector<std::string> names;
  for_each_op(program.body, [&](Op& op) {
    if (op.row != nullptr) names.push_back(op.row->name);
  });
  return names;
}

int count_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<int>(std::count(names.begin(), names.end(), name));
}

}  // namespace tw::test
