// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/instance.cpp: declares the reduce problem to the climber: columns, calls, verification of sums.
#include <utility>

#include "climb/generated.hpp"
#include "climb/guest.hpp"
#include "climb/reference.hpp"
#include "problems/dense/reduce/rung.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::impl::reduce {
namespace {

template <class T>
class ReduceInstance final : public ColumnInstance<T> {
  using ColumnInstance<T>::in_;
  using ColumnInstance<T>::group;

 public:
  ReduceInstance(Elements<T> in, std::int64_t n, const std::string& input)
      : ColumnInstance<T>(std::move(in), n, "reduce", input) {
    group.bytes = static_cast<double>(n) * sizeof(T);
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{in_.data(), group.n * std::int64_t{sizeof(T)}, false}, {&value_, sizeof value_, true}};
  }
  void fill(int which) override {
    ColumnInstance<T>::fill(which);
    close_ = {};
    if (this->is_exact_) return;
    for (std::int64_t i = 0; i < group.n; ++i) close_.next(static_cast<long double>(in_.data()[i]));
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const auto result = upsweep::reduce(policy, static_cast<const T*>(at[0]), n, T{});
    *static_cast<T*>(at[1]) = result.value;
    return result.rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return reduce_async(policy, static_cast<const T*>(at[0]), n, static_cast<T*>(at[1]), T{});
  }
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override {
    this->guest->template call_at<decltype(upsweep_rung_reduce), decltype(upsweep_rung_cuda_reduce)>(place, kCType<T>,
                                                                                                     at[0], n, at[1]);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::reduce_workspace<T, T>(policy, group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    if constexpr (std::is_floating_point_v<T>) {
      if (!this->is_exact_) {
        const bool is_right = reference::is_close(close_, value_, rung.float_bound.factor(group.n, group.n));
        return is_right ? "" : wrong_value(static_cast<T>(close_.value()));
      }
    }
    const T expected = sum();
    return value_ == expected ? "" : wrong_value(expected);
  }
  bool run_inlined() override {
    value_ = sum();
    return true;
  }

 private:
  [[nodiscard]] std::string wrong_value(T expected) const { return "wrong value: " + unlike(expected, value_); }
  [[nodiscard]] T sum() const {
    T total{};
    for (std::int64_t i = 0; i < group.n; ++i) total = add(total, in_.data()[i]);
    return total;
  }

  T value_{};
  reference::SumReference close_;
};

}  // namespace

constexpr Study kStudies[] = {{.name = "sizes", .sizes = kSweep, .types = kInt32AndFloat64},
                              {.name = "types", .sizes = kLarge},
                              {.name = "threads", .sizes = kLarge, .types = kInt32AndFloat64, .scales = true}};

extern constexpr Problem kProblem{.info = [] { return column_problem("reduce", rungs()); },
                                  .visit_instances = visit_columns<ReduceInstance>,
                                  .studies = kStudies};

}  // namespace upsweep::impl::reduce
