// Variant -> Programs, stage by stage, and the check that a tile fits the registers.
#pragma once

#include <optional>

#include "ir/program.h"
#include "model/core.h"
#include "model/variant.h"
#include "schedule/pressure.h"

namespace tw {

/// A variant's Program after each stage. What the C printer prints is `ordered`. The stages after
/// it are for assembly: `selected` exists when the ISA has any (its instructions tell what the
/// kernel costs), the others when the variant asks for it.
struct Compiled {
  const Variant* variant = nullptr;
  Program lowered;
  Program ordered;
  Pressure pressure;  ///< of `ordered`, vector registers
  std::optional<Program> selected;
  std::optional<Program> pipelined;
  std::optional<Program> allocated;
};

/// `core` is what assembly is scheduled for. Throws SpecError, at the variant's tile, when its
/// parts do not go together or its tile needs more registers than exist; the message then says
/// what it needs and which smaller tiles fit.
Compiled compile(const Variant& variant, const CoreModel& core);

/// The furthest stage that says what instructions there are; null when the ISA has no assembly.
const Program* instructions(const Compiled& compiled);

/// The name of the core table that a variant is scheduled for.
const std::string& core_name(const Variant& variant);

}  // namespace tw
