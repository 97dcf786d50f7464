// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks their
// running sums.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "climb/list_instance.hpp"
#include "climb/list_reference.hpp"
#include "problems/lists/segmented_scan/rung.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep::impl::segmented_scan {
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

  [[nodiscard]] std::vector<HostArray> arrays() override {
    auto all = Base::arrays();
    all.push_back({&status_, sizeof status_, true});
    return all;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return segmented_inclusive_scan_async(policy, this->lists_within(at, n), static_cast<const T*>(at[0]), n,
                                          static_cast<T*>(at[2]), static_cast<gpu::ListsStatus*>(at[3]), T{0}, add);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::segmented_scan_workspace<T, T>(policy, this->group.n);
  }
  /// Estimates the time of rungs that process a long list with one thread or one block.
  std::optional<double> estimate(const RungInfo& rung) override {
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < lists_; ++i) longest = std::max(longest, this->start(i + 1) - this->start(i));
    if (rung.id == "cuda.thread_per_list" && longest > 100'000) return static_cast<double>(longest) * 1e-7;
    if (rung.id == "cuda.block_per_list" && longest > 1'000'000) return static_cast<double>(longest) * 5e-9;
    return std::nullopt;
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    status_ = {kNoIndex, Code::ok};  // an error would have thrown
    return segmented_inclusive_scan(policy, this->lists_within(at, n), static_cast<const T*>(at[0]), n,
                                    static_cast<T*>(at[2]))
        .rung;
  }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    if (status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    // A GPU adds floats in a different order; their sums are compared within a bound unless they are exact.
    if (rung.backend() == Backend::cuda && !this->is_exact_) return wrong_sums();
    std::vector<T> right;
    for (std::int64_t i = 0; i < lists_; ++i) {
      const std::int64_t first = this->start(i);
      const std::int64_t last = this->start(i + 1);
      right.resize(static_cast<std::size_t>(last - first));
      reference::expected_scan(content_.data() + first, 0, last - first, Add{}, Add::identity<T>(), false,
                               right.data());
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
      T sum = Add::identity<T>();
      for (auto j = static_cast<std::int64_t>(offsets[i]); j < static_cast<std::int64_t>(offsets[i + 1]); ++j) {
        sum = add(sum, content[j]);
        sums[j] = sum;
      }
    }
    return true;
  }

 private:
  /// Returns "" if floats are as close to the exact sums as additions in any order can be.
  [[nodiscard]] std::string wrong_sums() const {
    constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::int64_t i = 0; i < lists_; ++i) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t j = this->start(i); j < this->start(i + 1); ++j) {
        sum += static_cast<double>(content_.data()[j]);
        magnitude += std::abs(static_cast<double>(content_.data()[j]));
        const auto additions = static_cast<double>(j - this->start(i) + 1);
        // For float64, the reference sum has the same number of roundings.
        const double bound = 2 * additions * kEpsilon * magnitude;
        if (!(std::abs(static_cast<double>(out_.data()[j]) - sum) <= bound)) return wrong_at(j);
      }
    }
    return "";
  }

  gpu::ListsStatus status_{};
};

}  // namespace

extern constexpr Problem kProblem{.info = [] { return list_problem("segmented-scan", rungs()); },
                                  .visit_instances = visit_lists<RunningSumsInstance>,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::segmented_scan
