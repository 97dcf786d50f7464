// SPDX-License-Identifier: Apache-2.0
// core/problems.cpp: the list of the problems; each is declared in src/<problem>/instance.cpp.
#include "core/problems.hpp"

#include <iterator>
#include <string>

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

const Problem& declaration(std::string_view name) { return *kProblems[position(name)]; }

std::span<const Study> studies(std::string_view problem) { return declaration(problem).studies; }

}  // namespace upsweep
