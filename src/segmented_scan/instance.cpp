// SPDX-License-Identifier: Apache-2.0
// segmented_scan/instance.cpp: the segmented-scan problem as the climber sees it: its lists, their running sums, and whether
// these are right.
#include <cstring>
#include <utility>

#include "core/list_instance.hpp"
#include "segmented_scan/reference.hpp"
#include "segmented_scan/rung.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep::segmented_scan {
namespace {

/// Running sums of lists.
template <class T, class Bound>
class RunningSumsInstance final : public ListInstance<T, Bound> {
  using Base = ListInstance<T, Bound>;
  using Base::content_;
  using Base::lists_;
  using Base::out_;

 public:
  explicit RunningSumsInstance(ListColumns<T, Bound> columns)
      : Base("segmented-scan", std::move(columns), &ListColumns<T, Bound>::elements) {}

  using Base::run;
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    return segmented_inclusive_scan(policy, this->lists_within(at, n), static_cast<const T*>(at[0]), n,
                                    static_cast<T*>(at[2]))
        .rung;
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    std::vector<T> right;
    for (std::int64_t i = 0; i < lists_; ++i) {
      const std::int64_t first = this->start(i);
      const std::int64_t last = this->start(i + 1);
      right.resize(static_cast<std::size_t>(last - first));
      expected_scan(content_.data() + first, 0, last - first, Add{}, T{0}, false, right.data());
      for (std::int64_t j = first; j < last; ++j) {
        const T& one = right[static_cast<std::size_t>(j - first)];
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
        if (std::memcmp(&one, out_.data() + j, sizeof(T)) != 0) return wrong_at(j);
      }
    }
    return "";
  }
  bool run_inlined() override {
    const Bound* const offsets = this->offsets_.data();
    const T* const content = content_.data();
    T* const sums = out_.data();
    for (std::int64_t i = 0; i < lists_; ++i) {
      T sum{0};
      for (auto j = static_cast<std::int64_t>(offsets[i]); j < static_cast<std::int64_t>(offsets[i + 1]); ++j) {
        sum = add(sum, content[j]);
        sums[j] = sum;
      }
    }
    return true;
  }
};

}  // namespace

extern constexpr Problem kProblem{.info = [] { return list_problem("segmented-scan", rungs()); },
                                  .visit_instances = visit_lists<RunningSumsInstance>};

}  // namespace upsweep::segmented_scan
