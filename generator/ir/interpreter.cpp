#include "ir/interpreter.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/meaning.h"
#include "ir/text.h"

namespace tw {
namespace {

class Execution {
 public:
  Execution(const Program& program, Memory& memory, uint64_t scratch, const RunOptions& options)
      : program_(program),
        prepared_(prepare(program, options.vl, options.physical)),
        machine_{memory, scratch, options.vl, *prepared_} {
    machine_.frame.resize(static_cast<size_t>(program.frame_slots));
    machine_.frame_written.resize(machine_.frame.size());
  }

  RunCounts run(uint64_t args) {
    set_scalar(prepared_->args, args);
    try {
      execute(prepared_->steps);
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
        if (step.mode != Mode::none) machine_.require(step.mode);
        meaning(step.code)(step, machine_);
      }
    }
  }

  static void move(const std::vector<Move>& moves) {
    for (const Move& move : moves) std::memmove(move.to.at, move.from.at, move.to.bytes);
  }

  void loop(const PreparedLoop& prepared) {
    uint64_t left = scalar(prepared.count);
    move(prepared.enter);
    while (left > 0) {
      if (prepared.counter.at != nullptr) set_scalar(prepared.counter, left);
      execute(prepared.body);
      move(prepared.again);
      if (prepared.counter.at != nullptr && scalar(prepared.counter) != left) {
        throw Fault(fmt::format("the counter of loop {} was overwritten", prepared.loop->label));
      }
      left = left > prepared.step ? left - prepared.step : 0;
    }
    if (prepared.counter.at != nullptr) set_scalar(prepared.counter, 0);
    move(prepared.leave);
  }

  void branch(const PreparedIf& prepared) {
    uint64_t a = scalar(prepared.a);
    uint64_t b = scalar(prepared.b);
    bool taken = prepared.compare == Compare::equal       ? a == b
                 : prepared.compare == Compare::not_equal ? a != b
                 : prepared.compare == Compare::below     ? a < b
                                                          : a >= b;
    execute(taken ? prepared.then_body : prepared.else_body);
  }

  const Program& program_;
  std::unique_ptr<Prepared> prepared_;
  Machine machine_;
  const Op* at_ = nullptr;  ///< what is being executed, for messages
  RunCounts counts_;
};

std::vector<uint8_t> args_bytes(const Arguments& arguments) {
  constexpr auto count = static_cast<size_t>(ArgField::all_count);
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
  std::string wrong = options.verified ? "" : verify(program);
  if (wrong.empty() && options.physical && !options.verified) wrong = verify_registers(program);
  if (!wrong.empty()) throw Fault(program.name + ": " + wrong);
  const WhileRunning args(memory, memory.add("args", args_bytes(arguments), false));
  // Stacks are aligned to 16 bytes, not more.
  const WhileRunning scratch(
      memory, memory.add_unwritten("scratch", static_cast<size_t>(program.scratch_bytes), 16));
  return Execution(program, memory, scratch.address, options).run(args.address);
}

}  // namespace tw
