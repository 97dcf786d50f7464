// SPDX-License-Identifier: Apache-2.0
// core/operator_hint.cpp: one table of synonyms, for the command, Python and C.
#include "upsweep/detail/operator_hint.hpp"

#include "core/ascii.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::detail {
namespace {

/// Words between blanks that mean an operator.
struct Synonyms {
  std::string_view words;
  Operator op;
};
constexpr Synonyms kSynonyms[] = {
    {" sum total plus + nansum fsum iadd ", Operator::add},
    {" prod product multiply times * nanprod imul ", Operator::mul},
    {" minimum least smallest lowest fmin nanmin amin ", Operator::min},
    {" maximum greatest largest highest fmax nanmax amax ", Operator::max},
    {" bitwise_and bit_and logical_and and_ & && ", Operator::bit_and},
    {" bitwise_or bit_or logical_or or_ | || ", Operator::bit_or},
    {" bitwise_xor bit_xor logical_xor xor_ ^ ", Operator::bit_xor},
};

/// Words for running results, which are scans.
constexpr Synonyms kRunning[] = {
    {" cumsum cumulative_sum running_sum prefix_sum nancumsum accumulate ", Operator::add},
    {" cumprod cumulative_prod nancumprod ", Operator::mul},
    {" cummin ", Operator::min},
    {" cummax ", Operator::max},
};

/// The reducers that only lists have.
constexpr std::string_view kOfLists = " any all count count_nonzero argmin argmax ";

/// Upper case is accepted: SUM, Max. So are a module before the word, as in np.add, and parentheses after it.
std::string between_blanks(std::string_view word) {
  if (const std::size_t dot = word.rfind('.'); dot != std::string_view::npos) word.remove_prefix(dot + 1);
  if (word.ends_with("()")) word.remove_suffix(2);
  return ' ' + lower_case(word) + ' ';
}

}  // namespace

std::string operator_hint(std::string_view word, std::string_view before, std::string_view after) {
  const std::string wanted = between_blanks(word);
  if (wanted.size() == 2 || wanted.find(' ', 1) != wanted.size() - 1) return "";  // not a single word
  const auto written = [&](std::string_view name) {
    return std::string(": write ").append(before).append(name).append(after);
  };
  for (int i = 0; i < kOperatorCount; ++i) {
    const std::string_view known = name(static_cast<Operator>(i));
    if (wanted.substr(1, wanted.size() - 2) == known) return written(known);
  }
  for (const auto& [words, op] : kSynonyms) {
    if (words.find(wanted) != std::string_view::npos) return written(name(op));
  }
  for (const auto& [words, op] : kRunning) {
    if (words.find(wanted) != std::string_view::npos) {
      return std::string(": this is a scan with the operator ").append(name(op));
    }
  }
  if (kOfLists.find(wanted) != std::string_view::npos) {
    return ": this is only for lists: use segmented_reduce or upsweep segment";
  }
  constexpr std::string_view kMeans = " mean avg average nanmean ";
  if (kMeans.find(wanted) == std::string_view::npos) return "";
  return ": a mean is the sum (add) divided by the number of elements";
}

}  // namespace upsweep::detail
