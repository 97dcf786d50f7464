// SPDX-License-Identifier: Apache-2.0
// plan/code_text.cpp: prints the instructions of a compiled program.
#include <iterator>
#include <string>

#include "plan/code.hpp"
#include "plan/kernels.hpp"

namespace upsweep::plan::detail {
namespace {

constexpr std::string_view kActions[] = {"group",
                                         "input offsets",
                                         "regular offsets",
                                         "filter",
                                         "filter offsets",
                                         "gather offsets",
                                         "gather source",
                                         "combination offsets",
                                         "combination source",
                                         "product offsets",
                                         "product source",
                                         "concatenation offsets",
                                         "concatenation source",
                                         "pad offsets",
                                         "pad source",
                                         "flat offsets",
                                         "parents",
                                         "beside",
                                         "reduce",
                                         "argsort",
                                         "output",
                                         "output offsets",
                                         "check",
                                         "histogram"};
static_assert(std::size(kActions) == static_cast<std::size_t>(Action::histogram) + 1);

std::string kernel_name(int kernel) {
  const auto type = [](int index) { return std::string(name(static_cast<ElementType>(index))); };
  const auto size = [](int log) { return std::to_string(8 << log); };
  if (kernel < kConvert) {
    return std::string(name(static_cast<Op>(kernel / kElementTypes))) + " " + type(kernel % kElementTypes);
  }
  if (kernel < kTake) {
    return "convert " + type((kernel - kConvert) / kElementTypes) + " " + type((kernel - kConvert) % kElementTypes);
  }
  if (kernel < kTakeClamped) return "take " + size(kernel - kTake);
  if (kernel < kLookup) return "take clamped " + size(kernel - kTakeClamped);
  if (kernel < kCopy) return "lookup " + size(kernel - kLookup);
  if (kernel < kTakeAdd) return "fill " + size(kernel - kCopy);
  if (kernel < kAddTake) return "take + take";
  if (kernel < kCounts) return "add take";
  if (kernel == kCounts) return "counts";
  if (kernel == kPositions) return "positions";
  if (kernel == kNumbers) return "numbers";
  if (kernel >= kCalls) return "call " + std::to_string(kernel - kCalls);
  if (kernel < kSearchRight) return "search left " + type(kernel - kSearchLeft);
  return "search right " + type(kernel - kSearchRight);
}

}  // namespace

std::string Compiled::to_text() const {
  const auto place = [&](std::int32_t s) -> std::string {
    if (s < 0) return "-";
    const Slot& slot = slots[static_cast<std::size_t>(s)];
    switch (slot.place) {
      case Place::block:
        return "b" + std::to_string(slot.index);
      case Place::tile:
        return "r" + std::to_string(slot.index);
      case Place::scalar: {
        for (const ScalarSlot& scalar : scalars) {
          if (scalar.slot == s && scalar.parameter >= 0) return "parameter" + std::to_string(scalar.parameter);
        }
        return "s" + std::to_string(s);
      }
      default:
        return "column" + std::to_string(slot.index);
    }
  };
  const auto step_text = [&](const Step& step) {
    std::string text = place(step.out) + " = " + kernel_name(step.kernel);
    for (const std::int32_t in : step.in) {
      if (in >= 0) text += " " + place(in);
    }
    return text + "\n";
  };
  std::string text;
  for (const Step& step : prologue) text += "scalar " + step_text(step);
  for (const Instruction& in : instructions) {
    if (in.action == Action::group) {
      text += "group over d" + std::to_string(in.domain) + "\n";
      for (std::int32_t i = in.first; i < in.last; ++i) text += "  " + step_text(steps[static_cast<std::size_t>(i)]);
      continue;
    }
    if (in.out >= 0 || in.extra >= 0) text += place(in.out);
    if (in.extra >= 0) text += " " + place(in.extra);
    if (in.out >= 0 || in.extra >= 0) text += " = ";
    text += kActions[static_cast<std::size_t>(in.action)];
    if (in.action == Action::reduce) text += " " + std::string(name(static_cast<Reduction>(in.which)));
    if (in.action == Action::histogram) text += " " + std::to_string(in.member);
    for (const std::int32_t s : in.in) {
      if (s >= 0) text += " " + place(s);
    }
    for (std::int32_t i = in.first; i < in.last; ++i) {
      const bool has_pairs = in.action == Action::beside || in.action == Action::combination_source;
      if (!has_pairs || (i - in.first) % 2 == 0) text += " " + place(operands[static_cast<std::size_t>(i)]);
    }
    if (in.domain >= 0) text += " over d" + std::to_string(in.domain);
    if (in.made >= 0) text += " to d" + std::to_string(in.made);
    text += "\n";
  }
  return text;
}

}  // namespace upsweep::plan::detail
