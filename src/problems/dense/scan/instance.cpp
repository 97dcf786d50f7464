// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/instance.cpp: declares the scan problem to the climber: columns, calls, verification of outputs.
#include <utility>

#include "climb/generated.hpp"
#include "climb/guest.hpp"
#include "climb/reference.hpp"
#include "problems/dense/scan/rung.hpp"
#include "upsweep/scan.hpp"

namespace upsweep::impl::scan {
namespace {

template <class T>
class ScanInstance final : public ColumnInstance<T> {
  using ColumnInstance<T>::in_;
  using ColumnInstance<T>::group;

 public:
  ScanInstance(Elements<T> in, std::int64_t n, const std::string& input)
      : ColumnInstance<T>(std::move(in), n, "scan", input), out_(n) {
    group.bytes = 2.0 * static_cast<double>(n) * sizeof(T);
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    const std::int64_t bytes = group.n * std::int64_t{sizeof(T)};
    return {{in_.data(), bytes, false}, {out_.data(), bytes, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    return inclusive_scan(policy, static_cast<const T*>(at[0]), n, static_cast<T*>(at[1])).rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    return inclusive_scan(policy, static_cast<const T*>(at[0]), n, static_cast<T*>(at[1])).rung;
  }
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override {
    this->guest->template call_at<decltype(upsweep_rung_scan), decltype(upsweep_rung_cuda_scan)>(place, kCType<T>,
                                                                                                 at[0], n, at[1]);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::scan_workspace<T, T>(policy, group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    if constexpr (std::is_floating_point_v<T>) {
      if (!this->is_exact_) {
        const std::int64_t wrong = reference::first_beyond(reference::SumReference(), in_.data(), out_.data(), group.n,
                                                           false, rung.float_bound);
        return wrong == kNoIndex ? "" : wrong_at(wrong, true_sum(wrong), out_[wrong]);
      }
    }
    const std::int64_t wrong =
        reference::first_wrong(reference::ExactReference<T, Add>(add), in_.data(), out_.data(), group.n, false);
    return wrong == kNoIndex ? "" : wrong_at(wrong, exact_sum(wrong), out_[wrong]);
  }
  bool run_inlined() override {
    T total{};
    for (std::int64_t i = 0; i < group.n; ++i) {
      total = add(total, in_.data()[i]);
      out_.data()[i] = total;
    }
    return true;
  }

 private:
  /// Returns the value that output i must be equal to, or close to.
  [[nodiscard]] T exact_sum(std::int64_t i) const {
    reference::ExactReference<T, Add> expected(add);
    for (std::int64_t j = 0; j <= i; ++j) expected.next(in_.data()[j]);
    return expected.total();
  }
  [[nodiscard]] T true_sum(std::int64_t i) const {
    reference::SumReference expected;
    for (std::int64_t j = 0; j <= i; ++j) expected.next(static_cast<long double>(in_.data()[j]));
    return static_cast<T>(expected.value());
  }

  cpu::Pages<T> out_;
};

}  // namespace

// The lengths of the report that moves compact_offsets to CUDA by a scan.
constexpr std::int64_t kBiswas[] = {1, 10, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
constexpr Type kInt32[] = {Type::int32};
constexpr Study kStudies[] = {{.name = "sizes", .sizes = kSweep, .types = kInt32AndFloat64},
                              {.name = "biswas2020", .sizes = kBiswas, .types = kInt32},
                              {.name = "types", .sizes = kLarge},
                              {.name = "threads", .sizes = kLarge, .types = kInt32AndFloat64, .scales = true}};

extern constexpr Problem kProblem{.info = [] { return column_problem("scan", rungs()); },
                                  .visit_instances = visit_columns<ScanInstance>,
                                  .studies = kStudies};

}  // namespace upsweep::impl::scan
