// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks their tuples.
#include <algorithm>
#include <string>
#include <utility>

#include "climb/generated_lists.hpp"
#include "problems/lists/combinations/reference.hpp"
#include "problems/lists/combinations/rung.hpp"
#include "upsweep/combinations.hpp"

namespace upsweep::impl::combinations {
namespace {

/// Pairs of each list's elements.
class PairsInstance final : public Instance {
 public:
  PairsInstance(std::vector<std::int64_t> lists, bool replacement, const std::string& input)
      : lists_(std::move(lists)), replacement_(replacement), offsets_(std::ssize(lists_)) {
    const std::int64_t count = std::ssize(lists_) - 1;
    total_ = combinations_offsets(seq, Lists(lists_), lists_.back(), 2, replacement, offsets_.data()).total;
    if (total_ > kMostTuples) {
      throw Error(Code::invalid_argument, grouped(total_) +
                                              " pairs exceed the maximum of a ladder: take fewer "
                                              "elements");
    }
    left_ = cpu::Pages<std::int64_t>(std::max<std::int64_t>(total_, 1));
    right_ = cpu::Pages<std::int64_t>(std::max<std::int64_t>(total_, 1));
    group.title = "combinations of " + grouped(lists_.back()) + " elements in " + grouped(count) +
                  " lists: " + grouped(total_) + (replacement ? " pairs with replacement" : " pairs");
    group.input = input;
    group.type = Type::int64;
    group.n = lists_.back();
    group.bytes = static_cast<double>(2 * count + 2 * total_ + 1) * 8;
    group.facts = {{"lists", count}, {"pairs", total_}};
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{lists_.data(), std::ssize(lists_) * 8, false},
            {offsets_.data(), std::ssize(lists_) * 8, true},
            {left_.data(), left_.size() * 8, true},
            {right_.data(), right_.size() * 8, true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    std::int64_t* const out[] = {static_cast<std::int64_t*>(at[2]), static_cast<std::int64_t*>(at[3])};
    const auto made = upsweep::combinations(policy, lists_within(at, n), n, 2, replacement_,
                                            static_cast<std::int64_t*>(at[1]), out, total_);
    status_ = {.first_bad = kNoIndex, .total = made.total, .code = Code::ok};  // an error would have thrown
    return made.rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    std::int64_t* const out[] = {static_cast<std::int64_t*>(at[2]), static_cast<std::int64_t*>(at[3])};
    return combinations_async(policy, lists_within(at, n), n, 2, replacement_, static_cast<std::int64_t*>(at[1]), out,
                              total_, static_cast<gpu::CombinationsStatus*>(at[4]));
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::combinations_workspace(policy, Lists(lists_), group.n, 2, replacement_, total_);
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    using Kind = ExpectedTuples::Kind;
    ExpectedTuples expected(replacement_ ? Kind::with_replacement : Kind::without_replacement, 2);
    std::int64_t k = 0;
    for (std::size_t i = 0; i + 1 < lists_.size(); ++i) {
      if (offsets_[static_cast<std::int64_t>(i)] != k) return wrong_at(k) + ", the offset of list " + std::to_string(i);
      if (!expected.first({lists_[i], lists_[i]}, {lists_[i + 1], lists_[i + 1]})) continue;
      do {
        if (k >= total_ || left_[k] != expected.tuple()[0] || right_[k] != expected.tuple()[1]) return wrong_at(k);
        ++k;
      } while (expected.next());
    }
    return k == total_ && offsets_[std::ssize(lists_) - 1] == k ? "" : wrong_at(k);
  }

 private:
  [[nodiscard]] Lists lists_within(Arrays at, std::int64_t n) const {
    return Lists::by_offsets(static_cast<const std::int64_t*>(at[0]),
                             count_within(lists_.data(), std::ssize(lists_) - 1, n));
  }

  static constexpr std::int64_t kMostTuples = std::int64_t{1} << 29;  // 8 GB

  std::vector<std::int64_t> lists_;
  bool replacement_;
  std::int64_t total_ = 0;
  cpu::Pages<std::int64_t> offsets_;
  cpu::Pages<std::int64_t> left_;
  cpu::Pages<std::int64_t> right_;
  gpu::CombinationsStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "OFFSETS", .type = Type::int64, .whole = true}};
constexpr std::string_view kReplacement[] = {"without", "with"};
constexpr SettingInfo kSettings[] = {
    kListSetting,
    {.name = "replacement", .help = "pairs with or without replacement (default: without)", .choices = kReplacement}};

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  const bool replacement = setting(request, "replacement").value_or(Setting{}).value == 1;
  if (!request.input.empty()) {
    const Column& column = request.input[0];
    const auto* const offsets = static_cast<const std::int64_t*>(column.data.get());
    if (column.count == 0) throw Error(Code::empty, column.name + ": has no offsets to climb on");
    PairsInstance instance(std::vector<std::int64_t>(offsets, offsets + column.count), replacement, column.name);
    return visit(instance);
  }
  const ListPattern pattern = list_pattern(request);
  for (const std::int64_t n : sizes_of(request, problem(request.problem))) {
    PairsInstance instance(generated_offsets(pattern, n), replacement, pattern_name(pattern));
    visit(instance);
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "combinations",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kShortListStudies};

}  // namespace upsweep::impl::combinations
