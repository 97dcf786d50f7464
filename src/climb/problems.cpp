// SPDX-License-Identifier: Apache-2.0
// climb/problems.cpp: the list of the problems; each is declared in the instance.cpp of its folder in src/problems/.
#include "climb/problems.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "core/no_ladder.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

namespace impl::scan {
extern const Problem kProblem;
}
namespace impl::reduce {
extern const Problem kProblem;
}
namespace impl::offsets {
extern const Problem kProblem;
}
namespace impl::segmented_reduce {
extern const Problem kProblem;
}
namespace impl::segmented_scan {
extern const Problem kProblem;
}
namespace impl::by_key {
extern const Problem kProblem;
}
namespace impl::group_by {
extern const Problem kProblem;
}
namespace impl::segmented_sort {
extern const Problem kProblem;
}
namespace impl::select {
extern const Problem kProblem;
}
namespace impl::partition {
extern const Problem kProblem;
}
namespace impl::take {
extern const Problem kProblem;
}
namespace impl::pack {
extern const Problem kProblem;
}
namespace impl::broadcast {
extern const Problem kProblem;
}
namespace impl::combinations {
extern const Problem kProblem;
}
namespace impl::filtered_sum {
extern const Problem kProblem;
}
namespace impl::subset_sum {
extern const Problem kProblem;
}

namespace {

constexpr const Problem* kProblems[] = {&impl::scan::kProblem,           &impl::reduce::kProblem,
                                        &impl::offsets::kProblem,        &impl::segmented_reduce::kProblem,
                                        &impl::segmented_scan::kProblem, &impl::by_key::kProblem,
                                        &impl::group_by::kProblem,       &impl::segmented_sort::kProblem,
                                        &impl::select::kProblem,         &impl::partition::kProblem,
                                        &impl::take::kProblem,           &impl::pack::kProblem,
                                        &impl::broadcast::kProblem,      &impl::combinations::kProblem,
                                        &impl::filtered_sum::kProblem,   &impl::subset_sum::kProblem};

std::size_t position(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < problems().size(); ++i) {
    const std::string_view one = problems()[i].name;
    if (one == name) return i;
    names.append(names.empty() ? "" : ", ").append(one);
  }
  throw Error(Code::invalid_argument, "unknown ladder '" + std::string(name) + "'; available: " + names);
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

/// The problems that have the rung, and "query", whose rungs do not form a ladder.
std::vector<std::string_view> problems_with(std::string_view rung) {
  std::vector<std::string_view> names;
  for (const ProblemInfo& one : problems()) {
    const auto is_it = [&](const RungInfo& info) { return info.id == rung; };
    if (std::any_of(one.rungs.begin(), one.rungs.end(), is_it)) names.push_back(one.name);
  }
  if (std::find(std::begin(kQueryRungs), std::end(kQueryRungs), rung) != std::end(kQueryRungs))
    names.push_back("query");
  return names;
}

/// "scan", "scan and reduce"; of many names only the first few.
std::string listed(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 3;
  std::string all;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    all.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  }
  return names.size() > kMost ? all + " and others" : all;
}

/// The problem with exactly these rungs, "a, b, c"; "this operation" if there is no such problem.
std::string owner_of(const std::string& rungs) {
  for (const ProblemInfo& one : problems()) {
    std::string ids;
    for (const RungInfo& rung : one.rungs) ids.append(ids.empty() ? "" : ", ").append(rung.id);
    if (ids == rungs) return std::string(one.name) + ", which runs this call";
  }
  return "this operation";
}

}  // namespace

void refuse_rung(std::string_view id, const std::string& known) {
  const std::string advice = known.empty() ? ", which has no ladder: leave the rung out" : "; available: " + known;
  const auto owners = problems_with(id);
  const std::string rung = "rung '" + std::string(id) + "'";
  if (!owners.empty()) {
    throw Error(Code::unsupported, rung + " belongs to " + listed(owners) + ", not to " + owner_of(known) + advice);
  }
  throw Error(Code::unknown_rung, "unknown " + rung + (known.empty() ? " of an operation" : "") + advice);
}

void require_no_rung(std::string_view rung) {
  if (!rung.empty()) refuse_rung(rung, {});
}

const Problem& declaration(std::string_view name) { return *kProblems[position(name)]; }

std::span<const Study> studies(std::string_view problem) { return declaration(problem).studies; }

}  // namespace upsweep
