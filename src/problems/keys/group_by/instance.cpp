// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/instance.cpp: declares the problem to the climber: keys and values, verified sums of each key.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "climb/generated.hpp"
#include "problems/keys/group_by/reference.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "upsweep/group_by.hpp"

namespace upsweep::impl::group_by {
namespace {

enum class KeyPattern : std::uint8_t {
  uniform,  ///< scattered keys with equal probability
  zipf,     ///< the same keys, with probability proportional to 1/k for key k
  sorted,   ///< uniform, in order
  dense,    ///< 0 … groups - 1
  one,      ///< one key
  all,      ///< a different key in each row
};
constexpr std::string_view kKeyPatterns[] = {"uniform", "zipf", "sorted", "dense", "one", "all"};
constexpr std::int64_t kUsualGroups = 1000;

template <class T>
class GroupByInstance final : public Instance {
 public:
  GroupByInstance(Elements<std::int64_t> keys, Elements<T> values, std::int64_t n, const std::string& input)
      : keys_(std::move(keys)), values_(std::move(values)), groups_(keys_.data(), n), out_keys_(n), out_(n) {
    const std::int64_t count = std::ssize(groups_.keys);
    group.title =
        "group-by of " + grouped(n) + " " + std::string(name(type_of<T>())) + " by " + grouped(count) + " keys";
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
    group.bytes = static_cast<double>((n + count) * (8 + kSize));
    group.facts = {{"groups", count}};
    if (!values_.is_generated()) folds_ = expected_folds<T>(groups_, values_.data(), Add{});
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
    folds_ = expected_folds<T>(groups_, values_.data(), Add{});
  }
  /// Outputs have capacity for one group per row.
  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{keys_.data(), group.n * 8, false},
            {values_.data(), group.n * kSize, false},
            {out_.data(), group.n * kSize, true},
            {out_keys_.data(), group.n * 8, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override { return run_on(policy, at, n); }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override { return run_on(policy, at, n); }
  /// Calls wait for the number of groups, but leave the results on the device.
  [[nodiscard]] bool waits(const RungInfo&) const override { return false; }
  [[nodiscard]] bool is_checkable() const override { return std::is_integral_v<T> && sizeof(T) >= 4; }

  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (found_ != std::ssize(groups_.keys)) return "finds " + grouped(found_) + " groups";
    if constexpr (std::is_floating_point_v<T>) {
      if (!is_exact_ || !values_.is_generated()) {
        return wrong_at(first_far_sum(groups_, values_.data(), out_keys_.data(), out_.data(), nullptr));
      }
    }
    return wrong_at(first_wrong_group(groups_, folds_, out_keys_.data(), out_.data(), nullptr));
  }

 private:
  static constexpr std::int64_t kSize = sizeof(T);

  template <class Policy>
  std::string_view run_on(const Policy& policy, Arrays at, std::int64_t n) {
    const auto call = detail::group_by_call(static_cast<const std::int64_t*>(at[0]), static_cast<const T*>(at[1]), n,
                                            static_cast<std::int64_t*>(at[3]), static_cast<T*>(at[2]), n, add);
    const Grouped result = detail::run_group_by(policy, call);
    found_ = result.groups;
    return result.rung;
  }

  Elements<std::int64_t> keys_;
  Elements<T> values_;
  ExpectedGroups<std::int64_t> groups_;
  std::vector<T> folds_;
  cpu::Pages<std::int64_t> out_keys_;
  cpu::Pages<T> out_;
  std::int64_t found_ = 0;
  bool is_exact_ = true;
};

constexpr InputInfo kInputs[] = {{.name = "KEYS", .type = Type::int64, .whole = true}, {.name = "VALUES"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr std::int64_t kUsualSizes[] = {3'000, 3'000'000, 30'000'000};
constexpr SettingInfo kSettings[] = {
    {.name = "groups",
     .help = "number of distinct keys of generated rows (default: 1000)",
     .least = 1,
     .most = std::int64_t{1} << 40},
    {.name = "keys", .help = "distribution of the keys of generated rows (default: uniform)", .choices = kKeyPatterns}};

/// Returns number k of the keys that are scattered over all possible keys, each different.
std::int64_t scattered(std::int64_t k) {
  auto key = static_cast<std::uint64_t>(k) * 0x9E3779B97F4A7C15U;  // odd, so every step is invertible
  key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93U;
  return static_cast<std::int64_t>(key ^ (key >> 32));
}

Elements<std::int64_t> keys_of(KeyPattern pattern, std::int64_t n, std::int64_t groups) {
  Elements<std::int64_t> keys(n);
  std::mt19937_64 random(48);
  const auto choices = static_cast<std::uint64_t>(groups);
  const double spread = std::log(static_cast<double>(groups) + 1);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t& key = keys.data()[i];
    switch (pattern) {
      case KeyPattern::zipf: {
        const double u = static_cast<double>(random() >> 11) * 0x1p-53;
        key = scattered(std::min(static_cast<std::int64_t>(std::exp(u * spread)), groups) - 1);
        break;
      }
      case KeyPattern::dense:
        key = static_cast<std::int64_t>(random() % choices);
        break;
      case KeyPattern::one:
        key = scattered(1);
        break;
      case KeyPattern::all:
        key = scattered(i);
        break;
      case KeyPattern::uniform:
      case KeyPattern::sorted:
        key = scattered(static_cast<std::int64_t>(random() % choices));
    }
  }
  if (pattern == KeyPattern::sorted) std::sort(keys.data(), keys.data() + n);
  return keys;
}

void visit_given(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& keys = input[0];
  const Column& values = input[1];
  if (keys.count == 0) throw Error(Code::empty, keys.name + ": has no keys to climb on");
  if (keys.count != values.count) {
    throw Error(Code::unequal_lengths, keys.name + " has " + std::to_string(keys.count) + " keys, but " + values.name +
                                           " has " + std::to_string(values.count) + " values");
  }
  visit_type(values.type, [&]<class T>(std::type_identity<T>) {
    GroupByInstance<T> instance(Elements<std::int64_t>(keys), Elements<T>(values), keys.count,
                                keys.name + " " + values.name);
    visit(instance);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) return visit_given(request.input, visit);
  const ProblemInfo& info = problem(request.problem);
  const auto pattern = static_cast<KeyPattern>(setting(request, "keys").value_or(Setting{}).value);
  const std::int64_t groups = setting(request, "groups").value_or(Setting{kUsualGroups}).value;
  std::string input = "keys: " + std::string(kKeyPatterns[static_cast<int>(pattern)]);
  if (pattern != KeyPattern::one && pattern != KeyPattern::all) input += ", " + grouped(groups) + " groups";
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        GroupByInstance<T> instance(keys_of(pattern, n, groups), Elements<T>(n), n, input);
        visit(instance);
      });
    }
  }
}

constexpr std::int64_t kManyRows[] = {1 << 24};
constexpr Study::Value kHundred[] = {{"groups", "100"}};
constexpr Study::Value kManyGroups[] = {{"groups", "100000"}};
constexpr Study::Value kZipf[] = {{"groups", "10000000"}, {"keys", "zipf"}};
constexpr Study::Value kDense[] = {{"groups", "100000"}, {"keys", "dense"}};
constexpr Study::Value kAll[] = {{"keys", "all"}};
constexpr Study::Value kDenseFew[] = {{"keys", "dense"}};
constexpr Study kStudies[] = {{.name = "sizes", .sizes = kSweep},
                              {.name = "sizes", .sizes = kManyRows, .settings = kDenseFew},
                              {.name = "groups", .sizes = kManyRows, .settings = kHundred},
                              {.name = "groups", .sizes = kManyRows, .settings = kManyGroups},
                              {.name = "groups", .sizes = kManyRows, .settings = kZipf},
                              {.name = "groups", .sizes = kManyRows, .settings = kDense},
                              {.name = "groups", .sizes = kManyRows, .settings = kAll},
                              {.name = "threads", .sizes = kManyRows, .scales = true}};

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "group-by",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kStudies};

}  // namespace upsweep::impl::group_by
