// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/instance.cpp: declares the by-key problem to the climber: sorted keys and values, and verified
// sums of each run of equal keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "problems/keys/by_key/reference.hpp"
#include "problems/keys/by_key/rung.hpp"
#include "upsweep/by_key.hpp"

namespace upsweep::impl::by_key {
namespace {

enum class Computed : std::uint8_t { reduce, scan };
constexpr std::string_view kComputed[] = {"reduce", "scan"};

template <class T>
class ByKeyInstance final : public Instance {
 public:
  ByKeyInstance(Elements<std::int64_t> keys, Elements<T> values, std::int64_t n, Computed computed,
                const std::string& input)
      : computed_(computed),
        keys_(std::move(keys)),
        values_(std::move(values)),
        offsets_(expected_offsets(keys_.data(), n)),
        out_keys_(computed == Computed::reduce ? n : 0),
        out_(n) {
    const std::int64_t runs = std::ssize(offsets_) - 1;
    group.title = "by-key (" + std::string(kComputed[static_cast<int>(computed)]) + ") of " + grouped(n) + " " +
                  std::string(name(type_of<T>())) + " in " + grouped(runs) + " runs of equal keys";
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
    const std::int64_t written = computed == Computed::reduce ? runs * (8 + kSize) : n * kSize;
    group.bytes = static_cast<double>(n * (8 + kSize) + written);
    group.facts = {{"runs", runs}};
  }

  /// Generated floats are first fractions, and then whole numbers.
  [[nodiscard]] int fills() const override { return values_.is_generated() && std::is_floating_point_v<T> ? 2 : 1; }
  void fill(int which) override {
    if (!values_.is_generated()) return;
    is_exact_ = which == fills() - 1;
    if (is_exact_) {
      fill_whole(values_.data(), group.n);
    } else {
      fill_fractions(values_.data(), group.n);
    }
  }
  /// Both outputs have n elements, because cuda.cub does not check the capacity.
  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{keys_.data(), group.n * 8, false},
            {values_.data(), group.n * kSize, false},
            {out_.data(), group.n * kSize, true},
            {out_keys_.data(), computed_ == Computed::reduce ? group.n * 8 : 0, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override { return run_on(policy, at, n); }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override { return run_on(policy, at, n); }
  /// Calls wait for the number of runs, but leave the results on the device.
  [[nodiscard]] bool waits(const RungInfo&) const override { return false; }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    const gpu::Policy top = policy.with_rung({});
    if (computed_ == Computed::scan) return gpu::segmented_scan_workspace<T, T>(top, group.n);
    return gpu::segmented_reduce_workspace<T, T>(top, Lists::by_offsets(offsets_.data(), std::ssize(offsets_) - 1),
                                                 group.n);
  }
  [[nodiscard]] bool is_checkable() const override { return std::is_integral_v<T> && sizeof(T) >= 4; }

  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    const std::int64_t runs = std::ssize(offsets_) - 1;
    const bool is_counted = computed_ == Computed::reduce || runs_ != kNoIndex;
    if (is_counted && runs_ != runs) return "finds " + grouped(runs_) + " runs";
    // Float sums that are not exact may differ on a GPU, which adds in another order.
    if (rung.backend() == Backend::cuda && std::is_floating_point_v<T> && !(is_exact_ && values_.is_generated())) {
      return wrong_at(computed_ == Computed::scan ? first_far_scan() : first_far_sum());
    }
    if (computed_ == Computed::scan) {
      return wrong_at(first_wrong_scan(offsets_, values_.data(), out_.data(), Add{}, kBegin, false));
    }
    return wrong_at(
        first_wrong_fold(offsets_, keys_.data(), values_.data(), out_keys_.data(), out_.data(), Add{}, kBegin));
  }
  bool run_inlined() override {
    const std::int64_t* const keys = keys_.data();
    const T* const values = values_.data();
    std::int64_t runs = 0;
    T sum{};
    for (std::int64_t i = 0; i < group.n; ++i) {
      sum = i > 0 && keys[i] == keys[i - 1] ? add(sum, values[i]) : add(kBegin, values[i]);
      if (computed_ == Computed::scan) {
        out_[i] = sum;
        continue;
      }
      if (i + 1 < group.n && keys[i + 1] == keys[i]) continue;
      out_keys_[runs] = keys[i];
      out_[runs++] = sum;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kSize = sizeof(T);
  static constexpr T kBegin = Add::identity<T>();  // a run's sum begins with it

  template <class Policy>
  std::string_view run_on(const Policy& policy, Arrays at, std::int64_t n) {
    const auto begin = detail::usual_beginning<T, Add>();
    const detail::Keys keys = detail::keys_at(static_cast<const std::int64_t*>(at[0]), n);
    const auto* const values = static_cast<const T*>(at[1]);
    auto* const out = static_cast<T*>(at[2]);
    ReducedByKey result{};
    if (computed_ == Computed::scan) {
      const auto scan = detail::segmented_scan_call({}, values, n, out, add, begin, false, {});
      result = detail::run_by_key(policy, {.keys = keys, .scan = &scan});
    } else {
      auto reduction = detail::fold_call({}, values, n, out, add, {});
      detail::set_beginning(reduction, begin);
      result = detail::run_by_key(
          policy, {.keys = keys, .reduction = &reduction, .out_keys = at[3], .keys_capacity = n, .capacity = n});
    }
    runs_ = result.runs;
    return result.rung;
  }

  /// Returns whether a float is as close to the sum as `additions` in any order allow. `sum` has the same rounding
  /// errors.
  static bool is_near(T value, double sum, double magnitude, std::int64_t additions) {
    constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    return std::abs(static_cast<double>(value) - sum) <= 2 * static_cast<double>(additions) * kEpsilon * magnitude;
  }
  /// Calls near(run, element, sum so far, sum of magnitudes) for every element. Returns the first that is false, or
  /// kNoIndex.
  template <class Near>
  [[nodiscard]] std::int64_t first_far(Near near) const {
    for (std::size_t r = 0; r + 1 < offsets_.size(); ++r) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t i = offsets_[r]; i < offsets_[r + 1]; ++i) {
        const auto value = static_cast<double>(values_.data()[i]);
        sum += value;
        magnitude += std::abs(value);
        if (!near(r, i, sum, magnitude)) return i;
      }
    }
    return kNoIndex;
  }
  [[nodiscard]] std::int64_t first_far_scan() const {
    return first_far([&](std::size_t r, std::int64_t i, double sum, double magnitude) {
      return is_near(out_.data()[i], sum, magnitude, i - offsets_[r] + 1);
    });
  }
  [[nodiscard]] std::int64_t first_far_sum() const {
    return first_far([&](std::size_t r, std::int64_t i, double sum, double magnitude) {
      if (i + 1 < offsets_[r + 1]) return true;
      return out_keys_.data()[r] == keys_.data()[i] &&
             is_near(out_.data()[r], sum, magnitude, offsets_[r + 1] - offsets_[r]);
    });
  }

  Computed computed_;
  Elements<std::int64_t> keys_;
  Elements<T> values_;
  std::vector<std::int64_t> offsets_;
  cpu::Pages<std::int64_t> out_keys_;
  cpu::Pages<T> out_;
  std::int64_t runs_ = 0;
  bool is_exact_ = true;
};

constexpr InputInfo kInputs[] = {{.name = "KEYS", .type = Type::int64, .whole = true}, {.name = "VALUES"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr std::int64_t kUsualSizes[] = {3'000, 3'000'000, 30'000'000};
constexpr SettingInfo kSettings[] = {
    kListSetting,
    {.name = "computed", .help = "compute a sum of each run, or running sums (default: reduce)", .choices = kComputed}};

/// Returns each list's number, once for each of its elements. The numbers of empty lists do not occur.
Elements<std::int64_t> keys_of(const std::vector<std::int64_t>& offsets) {
  Elements<std::int64_t> keys(offsets.back());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::fill(keys.data() + offsets[i], keys.data() + offsets[i + 1], static_cast<std::int64_t>(i));
  }
  return keys;
}

void visit_given(const std::vector<Column>& input, Computed computed, const Problem::Visit& visit) {
  const Column& keys = input[0];
  const Column& values = input[1];
  if (keys.count == 0) throw Error(Code::empty, keys.name + ": has no keys to climb on");
  if (keys.count != values.count) {
    throw Error(Code::unequal_lengths, keys.name + " has " + std::to_string(keys.count) + " keys, but " + values.name +
                                           " has " + std::to_string(values.count) + " values");
  }
  visit_type(values.type, [&]<class T>(std::type_identity<T>) {
    ByKeyInstance<T> instance(Elements<std::int64_t>(keys), Elements<T>(values), keys.count, computed,
                              keys.name + " " + values.name);
    visit(instance);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  const auto computed = static_cast<Computed>(setting(request, "computed").value_or(Setting{}).value);
  if (!request.input.empty()) return visit_given(request.input, computed, visit);
  const ProblemInfo& info = problem(request.problem);
  const ListPattern pattern = list_pattern(request);
  if (pattern == ListPattern::empty) {
    throw Error(Code::invalid_argument, "empty lists cannot be runs of equal keys: choose another length for --lists");
  }
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      const std::vector<std::int64_t> offsets = generated_offsets(pattern, n);
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        ByKeyInstance<T> instance(keys_of(offsets), Elements<T>(n), n, computed, pattern_name(pattern));
        visit(instance);
      });
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "by-key",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::by_key
