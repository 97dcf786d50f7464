// SPDX-License-Identifier: Apache-2.0
// core/problems.cpp: the list of the problems; each is declared in src/<problem>/instance.cpp.
#include "core/problems.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "core/no_ladder.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

namespace scan {
extern const Problem kProblem;
}
namespace reduction {
extern const Problem kProblem;
}
namespace ragged {
extern const Problem kProblem;
}
namespace segmented {
extern const Problem kProblem;
}
namespace segmented_scan {
extern const Problem kProblem;
}
namespace by_key {
extern const Problem kProblem;
}
namespace grouping {
extern const Problem kProblem;
}
namespace list_sorting {
extern const Problem kProblem;
}
namespace selection {
extern const Problem kProblem;
}
namespace partitioning {
extern const Problem kProblem;
}
namespace taking {
extern const Problem kProblem;
}
namespace packing {
extern const Problem kProblem;
}
namespace positions {
extern const Problem kProblem;
}
namespace combining {
extern const Problem kProblem;
}
namespace aggregate {
extern const Problem kProblem;
}
namespace subset_sum {
extern const Problem kProblem;
}

namespace {

constexpr const Problem* kProblems[] = {
    &scan::kProblem,           &reduction::kProblem,    &ragged::kProblem,    &segmented::kProblem,
    &segmented_scan::kProblem, &by_key::kProblem,       &grouping::kProblem,  &list_sorting::kProblem,
    &selection::kProblem,      &partitioning::kProblem, &taking::kProblem,    &packing::kProblem,
    &positions::kProblem,      &combining::kProblem,    &aggregate::kProblem, &subset_sum::kProblem};

std::size_t position(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < problems().size(); ++i) {
    const std::string_view one = problems()[i].name;
    if (one == name) return i;
    names.append(names.empty() ? "" : ", ").append(one);
  }
  throw Error(Code::invalid_argument, "no ladder is called '" + std::string(name) + "'; there are " + names);
}

}  // namespace

const std::vector<ProblemInfo>& problems() {
  static const std::vector<ProblemInfo> all = [] {
    std::vector<ProblemInfo> infos;
    for (const Problem* one : kProblems) infos.push_back(one->info());
    return infos;
  }();
  return all;
}

const ProblemInfo& problem(std::string_view name) { return problems()[position(name)]; }

namespace {

/// The problems that have the rung: "scan and reduce"; empty where none has.
std::string problems_with(std::string_view rung) {
  std::vector<std::string_view> names;
  for (const ProblemInfo& one : problems()) {
    const auto is_it = [&](const RungInfo& info) { return info.id == rung; };
    if (std::any_of(one.rungs.begin(), one.rungs.end(), is_it)) names.push_back(one.name);
  }
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  }
  return all;
}

}  // namespace

std::string unknown_rung(std::string_view id) {
  const std::string problems = problems_with(id);
  const std::string quoted = "'" + std::string(id) + "'";
  return problems.empty() ? "no rung is called " + quoted : quoted + " is a rung of " + problems + " only";
}

void require_no_rung(std::string_view rung) {
  if (rung.empty()) return;
  throw Error(Code::unknown_rung, unknown_rung(rung) + ": this operation has no ladder; leave the rung out");
}

const Problem& declaration(std::string_view name) { return *kProblems[position(name)]; }

std::span<const Study> studies(std::string_view problem) { return declaration(problem).studies; }

}  // namespace upsweep
