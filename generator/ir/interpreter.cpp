#include "ir/interpreter.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/plan.h"
#include "ir/semantics.h"
#include "ir/text.h"
#include "ir/typing.h"

namespace tw {
namespace {

uint64_t scalar(const Storage& place) {
  uint64_t value;
  std::memcpy(&value, place.at, sizeof value);
  return value;
}

void set_scalar(const Storage& place, uint64_t value) {
  std::memcpy(place.at, &value, sizeof value);
}

class Machine {
 public:
  Machine(const Program& program, Memory& memory, uint64_t scratch, const RunOptions& options)
      : program_(program),
        memory_(memory),
        scratch_(scratch),
        vl_(options.vl),
        plan_(make_plan(program, options.vl, options.physical)),
        frame_(static_cast<size_t>(program.frame_slots)),
        frame_written_(frame_.size()) {}

  RunCounts run(uint64_t args) {
    set_scalar(plan_->args, args);
    try {
      execute(plan_->steps);
    } catch (const Fault& fault) {
      std::string where = at_ == nullptr ? "" : to_text(program_, *at_, unique_names(program_));
      throw Fault(fmt::format("{}: {}: {}", program_.name, where, fault.what()));
    }
    return counts_;
  }

 private:
  void execute(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (step.loop != nullptr) {
        loop(*step.loop);
      } else if (step.branch != nullptr) {
        branch(*step.branch);
      } else {
        at_ = step.op;
        counts_.operations += step.operations;
        if (step.mode != Mode::none) require(step.mode);
        operation(step);
      }
    }
  }

  static void move(const std::vector<Move>& moves) {
    for (const Move& move : moves) std::memmove(move.to.at, move.from.at, move.to.bytes);
  }

  void loop(const LoopPlan& plan) {
    uint64_t left = scalar(plan.count);
    move(plan.enter);
    while (left > 0) {
      if (plan.counter.at != nullptr) set_scalar(plan.counter, left);
      execute(plan.body);
      move(plan.again);
      if (plan.counter.at != nullptr && scalar(plan.counter) != left) {
        throw Fault(fmt::format("the counter of loop {} was overwritten", plan.loop->label));
      }
      left = left > plan.step ? left - plan.step : 0;
    }
    if (plan.counter.at != nullptr) set_scalar(plan.counter, 0);
    move(plan.leave);
  }

  void branch(const IfPlan& plan) {
    uint64_t a = scalar(plan.a);
    uint64_t b = scalar(plan.b);
    bool taken = plan.compare == Compare::equal       ? a == b
                 : plan.compare == Compare::not_equal ? a != b
                 : plan.compare == Compare::below     ? a < b
                                                      : a >= b;
    execute(taken ? plan.then_body : plan.else_body);
  }

  void operation(const Step& s) {
    switch (s.code) {
      case OpCode::arg:
        return argument(s);
      case OpCode::scratch:
        return set_scalar(s.to, scratch_);
      case OpCode::copy:
        std::memmove(s.to.at, s.arg[0].at, s.to.bytes);
        return;
      case OpCode::load_i64:
      case OpCode::load:
      case OpCode::load_dup:
      case OpCode::load_lane:
      case OpCode::load_pred:
        return load(s);
      case OpCode::store_i64:
      case OpCode::store:
      case OpCode::store_stream:
      case OpCode::store_pred:
      case OpCode::store_lane:
        return store(s);
      case OpCode::frame_load:
      case OpCode::frame_store:
        return frame(s);
      case OpCode::prefetch:
      case OpCode::prefetch_near:
      case OpCode::prefetch_write:
      case OpCode::store_fence:  // everything here happens in order
        return;
      case OpCode::pred_all:
      case OpCode::pred_first:
      case OpCode::pred_bits:
        return predicate_operation(s.code, s.to.bytes, s.arg_count > 0 ? scalar(s.arg[0]) : 0,
                                   s.to.at);
      case OpCode::tile_zero:
      case OpCode::tile_row:
      case OpCode::tile_dot4_s8s8_lane:
      case OpCode::tile_quarter:
      case OpCode::tile_fma4:
      case OpCode::outer_s8s8:
      case OpCode::outer_f32:
        return tile(s);
      case OpCode::mode_enter:
      case OpCode::mode_leave:
        return change_mode(static_cast<Mode>(s.imm), s.code == OpCode::mode_enter);
      default:
        return s.to.kind == Kind::scalar ? scalars(s) : vectors(s);
    }
  }

  /// The fields of tw_args are 8 bytes each, in the order of ArgField.
  void argument(const Step& s) {
    uint64_t value = scalar(s.arg[0]) + 8 * static_cast<uint64_t>(s.imm);
    auto field = static_cast<ArgField>(s.imm);
    if (field != ArgField::clamp && field != ArgField::output_zero) {
      memory_.read(value, &value, sizeof value);
    }
    set_scalar(s.to, value);
  }

  void scalars(const Step& s) {
    uint64_t args[3] = {};
    for (int i = 0; i < s.arg_count; ++i) args[i] = scalar(s.arg[i]);
    bool has_offset = s.code == OpCode::length || s.code == OpCode::iadd_imm;
    int64_t number = has_offset ? s.offset : s.imm;
    set_scalar(s.to, scalar_operation(s.code, number, args[0], args[1], args[2]));
  }

  void vectors(const Step& s) {
    VectorOperation in{s.code, s.bits, s.imm, s.to.bytes, s.arg[0].bytes, {}};
    for (int i = 0; i < s.arg_count; ++i) in.arg[i] = s.arg[i].at;
    // The result may share a register with an argument.
    uint8_t result[longest_vector];
    vector_operation(in, result);
    std::memcpy(s.to.at, result, s.to.bytes);
  }

  static uint64_t address(const Step& s, const Storage& pointer) {
    return scalar(pointer) + static_cast<uint64_t>(s.offset);
  }

  void load(const Step& s) {
    uint8_t result[longest_vector];
    size_t element = static_cast<size_t>(s.bits) / 8;
    switch (s.code) {
      case OpCode::load_lane: {
        std::memcpy(result, s.arg[0].at, s.to.bytes);
        memory_.read(address(s, s.arg[1]), result + static_cast<size_t>(s.imm) * element, element);
        break;
      }
      case OpCode::load_dup:
        memory_.read(address(s, s.arg[0]), result, element);
        for (size_t at = element; at < s.to.bytes; at += element) {
          std::memcpy(result + at, result, element);
        }
        break;
      case OpCode::load_pred:
        std::memset(result, 0, s.to.bytes);
        for (size_t i = 0; i < s.to.bytes / element; ++i) {
          if (s.arg[0].at[i] == 0) continue;
          memory_.read(address(s, s.arg[1]) + i * element, result + i * element, element);
        }
        break;
      default:
        memory_.read(address(s, s.arg[0]), result, s.to.bytes);
    }
    std::memcpy(s.to.at, result, s.to.bytes);
  }

  void store(const Step& s) {
    size_t element = static_cast<size_t>(s.bits) / 8;
    switch (s.code) {
      case OpCode::store_lane:
        memory_.write(address(s, s.arg[0]), s.arg[1].at + static_cast<size_t>(s.imm) * element,
                      element);
        return;
      case OpCode::store_pred:
        for (size_t i = 0; i < s.arg[2].bytes / element; ++i) {
          if (s.arg[0].at[i] == 0) continue;
          memory_.write(address(s, s.arg[1]) + i * element, s.arg[2].at + i * element, element);
        }
        return;
      case OpCode::store_stream:
        if (address(s, s.arg[0]) % s.arg[1].bytes != 0) {
          throw Fault(fmt::format("address {:#x} is not a multiple of {}", address(s, s.arg[0]),
                                  s.arg[1].bytes));
        }
        break;
      default:
        break;
    }
    memory_.write(address(s, s.arg[0]), s.arg[1].at, s.arg[1].bytes);
  }

  void frame(const Step& s) {
    auto slot = static_cast<size_t>(s.imm);
    if (s.code == OpCode::frame_store) {
      frame_[slot] = scalar(s.arg[0]);
      frame_written_[slot] = true;
      return;
    }
    if (!frame_written_[slot]) throw Fault(fmt::format("frame slot {} was never written", slot));
    set_scalar(s.to, frame_[slot]);
  }

  void tile(const Step& s) {
    require(Mode::accumulator_tiles);
    auto vector_bytes = static_cast<size_t>(16 * vl_.svl);
    switch (s.code) {
      case OpCode::tile_zero:
        std::memset(s.to.at, 0, s.to.bytes);
        return;
      case OpCode::tile_row: {
        uint64_t row = scalar(s.arg[1]);
        fits_tile(s.to.bytes);
        if (row >= static_cast<uint64_t>(4 * vl_.svl)) {
          throw Fault(fmt::format("row {} of a tile with {} rows", row, 4 * vl_.svl));
        }
        std::memcpy(s.to.at, s.arg[0].at + row * vector_bytes, vector_bytes);
        return;
      }
      case OpCode::tile_dot4_s8s8_lane:
        return dots_into_rows(s);
      case OpCode::tile_quarter:
        fits_tile(s.to.bytes);
        std::memcpy(s.to.at, spread_row(s, s.arg[0].at, s.arg[0].bytes, s.imm / 4, s.imm % 4),
                    vector_bytes);
        return;
      case OpCode::tile_fma4:
        return products_into_rows(s);
      default:
        fits_tile(s.arg[1].bytes);
        if (s.to.at != s.arg[0].at) std::memcpy(s.to.at, s.arg[0].at, s.to.bytes);
        const auto product = s.code == OpCode::outer_f32 ? outer_product_f32 : outer_product;
        product(vl_.svl, s.arg[1].at, s.arg[2].at, s.arg[3].at, s.arg[4].at, s.to.at);
    }
  }

  /// One vector of products for each of four rows, as far apart as they can be.
  void dots_into_rows(const Step& s) {
    fits_tile(s.arg[1].bytes);
    if (s.to.at != s.arg[0].at) std::memcpy(s.to.at, s.arg[0].at, s.to.bytes);
    const size_t row_bytes = s.arg[1].bytes;
    for (size_t i = 0; i < 4; ++i) {
      uint8_t* row = s.to.at + i * (s.to.bytes / 4);
      VectorOperation in{OpCode::dot4_s8s8_lane, 0, s.imm, row_bytes, row_bytes, {}};
      in.arg[0] = row;
      in.arg[1] = s.arg[1 + i].at;
      in.arg[2] = s.arg[5].at;
      vector_operation(in, row);
    }
  }

  /// Where a row of the group of four that begins `down` rows below the scalar's is.
  uint8_t* spread_row(const Step& s, uint8_t* tile, size_t tile_bytes, int64_t down,
                      int64_t quarter) const {
    const uint64_t first = scalar(s.arg[1]);
    if (first % 4 != 0) throw Fault(fmt::format("{} is not 4 times a row", first));
    const auto rows = static_cast<uint64_t>(vl_.svl);  // of a quarter
    const uint64_t row = (first / 4 + static_cast<uint64_t>(down)) % rows;
    return tile + (row + static_cast<uint64_t>(quarter) * rows) * (tile_bytes / (4 * rows));
  }

  void products_into_rows(const Step& s) {
    fits_tile(s.arg[2].bytes);
    if (s.to.at != s.arg[0].at) std::memcpy(s.to.at, s.arg[0].at, s.to.bytes);
    const size_t row_bytes = s.arg[2].bytes;
    for (int64_t i = 0; i < 4; ++i) {
      uint8_t* row = spread_row(s, s.to.at, s.to.bytes, s.imm, i);
      VectorOperation in{OpCode::fma, 0, 0, row_bytes, row_bytes, {}};
      in.arg[0] = s.arg[2 + i].at;
      in.arg[1] = s.arg[6 + i].at;
      in.arg[2] = row;
      vector_operation(in, row);
    }
  }

  void fits_tile(size_t bytes) const {
    auto row_bytes = static_cast<size_t>(16 * vl_.svl);
    if (bytes != row_bytes) {
      throw Fault(fmt::format("a vector of {} bytes, a tile's rows have {}", bytes, row_bytes));
    }
  }

  void require(Mode mode) const {
    if (!active_[static_cast<size_t>(mode)]) throw Fault(fmt::format("needs mode {}", name(mode)));
  }

  /// Nothing that the mode holds survives its change: on the way in and out of streaming the
  /// vectors and predicates are lost, tiles are lost on the way out.
  void change_mode(Mode mode, bool enter) {
    active_[static_cast<size_t>(mode)] = enter;
    if (mode == Mode::nibble_table) return;
    bool vectors = mode == Mode::streaming;
    size_t begin = vectors ? plan_->vectors_begin : plan_->tiles_begin;
    size_t end = vectors ? plan_->tiles_begin : plan_->bytes.size();
    std::memset(plan_->bytes.data() + begin, 0xCD, end - begin);
  }

  const Program& program_;
  Memory& memory_;
  uint64_t scratch_;  ///< address of the Program's own memory
  VectorLength vl_;
  std::unique_ptr<Plan> plan_;
  std::vector<uint64_t> frame_;
  std::vector<bool> frame_written_;
  bool active_[4] = {};     ///< by Mode
  const Op* at_ = nullptr;  ///< what is being executed, for messages
  RunCounts counts_;
};

std::vector<uint8_t> args_bytes(const Arguments& arguments) {
  constexpr auto count = static_cast<size_t>(ArgField::count);
  std::vector<uint8_t> bytes(8 * count);
  uint64_t size = bytes.size();
  std::memcpy(bytes.data(), arguments.field, bytes.size());
  std::memcpy(bytes.data() + 8 * static_cast<size_t>(ArgField::size), &size, 8);
  size_t clamp = 8 * static_cast<size_t>(ArgField::clamp);
  std::memcpy(bytes.data() + clamp, &arguments.min, 4);
  std::memcpy(bytes.data() + clamp + 4, &arguments.max, 4);
  return bytes;
}

/// A region that exists while a Program runs: the argument struct, or memory of its own.
class WhileRunning {
 public:
  WhileRunning(Memory& memory, uint64_t address) : address(address), memory_(memory) {}
  WhileRunning(const WhileRunning&) = delete;
  WhileRunning& operator=(const WhileRunning&) = delete;
  ~WhileRunning() { memory_.remove_last(); }
  const uint64_t address;

 private:
  Memory& memory_;
};

}  // namespace

RunCounts run(const Program& program, const Arguments& arguments, Memory& memory,
              const RunOptions& options) {
  std::string wrong = verify(program);
  if (wrong.empty() && options.physical) wrong = verify_registers(program);
  if (!wrong.empty()) throw Fault(program.name + ": " + wrong);
  const WhileRunning args(memory, memory.add("args", args_bytes(arguments), false));
  // Stacks are aligned to 16 bytes, not more.
  const WhileRunning scratch(
      memory, memory.add_unwritten("scratch", static_cast<size_t>(program.scratch_bytes), 16));
  return Machine(program, memory, scratch.address, options).run(args.address);
}

}  // namespace tw
