// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/instance.cpp: makes the lists of a ladder run, calls the rungs, and checks their
// sums.
#include <cstring>
#include <utility>

#include "climb/guest.hpp"
#include "climb/list_instance.hpp"
#include "climb/list_reference.hpp"
#include "climb/reference.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

/// Sums of lists.
template <class T, class Bound>
class SumsInstance final : public ListInstance<T, Bound> {
  using Base = ListInstance<T, Bound>;
  using Base::content_;
  using Base::lists_;
  using Base::out_;

 public:
  explicit SumsInstance(ListColumns<T, Bound> columns)
      : Base("segmented-reduce", std::move(columns), &ListColumns<T, Bound>::lists) {}

  [[nodiscard]] std::vector<HostArray> arrays() override {
    auto all = Base::arrays();
    all.push_back({&status_, sizeof status_, true});
    return all;
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    status_ = {.first_bad = kNoIndex, .code = Code::ok};  // an error would have thrown
    return upsweep::segmented_reduce(policy, this->lists_within(at, n), static_cast<const T*>(at[0]), n,
                                     static_cast<T*>(at[2]))
        .rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return segmented_reduce_async(policy, this->lists_within(at, n), static_cast<const T*>(at[0]), n,
                                  static_cast<T*>(at[2]), static_cast<gpu::ListsStatus*>(at[3]));
  }
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override {
    if constexpr (!std::is_same_v<Bound, std::int64_t>) throw Error(Code::unsupported, "supports only int64 offsets");
    this->guest
        ->template call_at<decltype(upsweep_rung_segmented_reduce), decltype(upsweep_rung_cuda_segmented_reduce)>(
            place, kCType<T>, at[0], static_cast<const std::int64_t*>(at[1]), this->lists_within(at, n).count, at[2]);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::segmented_reduce_workspace<T, T>(policy, Lists::by_offsets(this->offsets_.data(), lists_),
                                                 this->group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    if (!is_guest(rung) && status_.code != Code::ok) {
      return "finds list " + std::to_string(status_.first_bad) + " bad";
    }
    const bool is_rounded = std::is_floating_point_v<T> && !(this->is_exact_ && content_.is_generated());
    // CUDA rungs and guests add floats in a different order.
    if ((rung.backend() == Backend::cuda || is_guest(rung)) && is_rounded) {
      const std::int64_t far = first_far(rung);
      return far == kNoIndex ? "" : wrong_at(far, static_cast<T>(true_sum(far).value()), out_[far]);
    }
    for (std::int64_t i = 0; i < lists_; ++i) {
      const std::int64_t first = this->start(i);
      const std::int64_t last = this->start(i + 1);
      // A library adds in a different order; it is compared only if every order is exact.
      if (!this->is_exact_ && rung.kind == Kind::library && last - first > reference::kSerialElements) continue;
      const T sum =
          first == last ? T{0} : reference::expected_fold(content_.data(), first, last, Add{}, Add::identity<T>());
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
      if (std::memcmp(&sum, out_.data() + i, sizeof(T)) != 0) return wrong_at(i, sum, out_[i]);
    }
    return "";
  }
  bool run_inlined() override {
    const Bound* const offsets = this->offsets_.data();
    const T* const content = content_.data();
    T* const sums = out_.data();
    for (std::int64_t i = 0; i < lists_; ++i) {
      T sum = offsets[i] == offsets[i + 1] ? T{0} : Add::identity<T>();
      for (auto j = static_cast<std::int64_t>(offsets[i]); j < static_cast<std::int64_t>(offsets[i + 1]); ++j) {
        sum = add(sum, content[j]);
      }
      sums[i] = sum;
    }
    return true;
  }

 private:
  [[nodiscard]] reference::SumReference true_sum(std::int64_t list) const {
    reference::SumReference sum;
    for (std::int64_t j = this->start(list); j < this->start(list + 1); ++j) {
      sum.next(static_cast<long double>(content_.data()[j]));
    }
    return sum;
  }
  /// Returns the first sum whose error is larger than the rung's order of additions explains.
  [[nodiscard]] std::int64_t first_far(const RungInfo& rung) const {
    for (std::int64_t i = 0; i < lists_; ++i) {
      const std::int64_t length = this->start(i + 1) - this->start(i);
      if (!reference::is_close(true_sum(i), out_.data()[i],
                               rung.float_bound.factor(length, std::max<std::int64_t>(length, 1)))) {
        return i;
      }
    }
    return kNoIndex;
  }

  gpu::ListsStatus status_{.first_bad = kNoIndex, .code = Code::ok};
};

}  // namespace

extern constexpr Problem kProblem{.info = [] { return list_problem("segmented-reduce", rungs()); },
                                  .visit_instances = visit_lists<SumsInstance>,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::segmented_reduce
