// SPDX-License-Identifier: Apache-2.0
// bench/subset_sum_ladder.cpp: verifies and times the rungs of subset-sum on the CPU, std::bitset and a copy beside them.
#include "subset_sum_ladder.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include "buffer.hpp"
#include "clock.hpp"
#include "gpu_ladder.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/reference.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::bench {
namespace {

constexpr std::int64_t kSeed = 12;
constexpr std::int64_t kDocumentTarget = 25'000'000;
constexpr std::int64_t kDenseTarget = 1'000'000'000;
constexpr double kBudget = 3;
// Up to so many sums of items a bitmap is checked sum by sum: a second.
constexpr double kMostChecked = 2e9;
// Of less than that nobody needs an estimate: a tenth of a second by the slowest rung.
constexpr double kLeastEstimated = 1e8;
// A bitmap of that many bits is 16 GB: beyond, the target is only decided about.
constexpr std::int64_t kMostBits = std::int64_t{1} << 37;

SubsetInstance made_instance(std::int64_t n, std::int64_t largest, std::int64_t target) {
  std::mt19937_64 random(static_cast<std::uint64_t>(kSeed));
  SubsetInstance instance{.seed = kSeed};
  for (std::int64_t i = 0; i < n; ++i) {
    instance.items.push_back(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest)));
  }
  instance.target = target;
  return instance;
}

/// One more than the sum of every other item: mostly no sum, so that the whole search is timed.
SubsetInstance list_instance(std::int64_t n) {
  SubsetInstance instance = made_instance(n, std::int64_t{1} << 57, 1);
  for (std::size_t i = 0; i < instance.items.size(); i += 2) instance.target += instance.items[i];
  instance.fills = false;
  return instance;
}

double checked_work(const SubsetInstance& instance) {
  return static_cast<double>(instance.items.size()) * (static_cast<double>(instance.target) + 1);
}

// ------------------------------------------------------------------------------------------------------------ the rungs

class Climb {
 public:
  Climb(const LadderRequest& request, const Progress& progress, const SubsetInstance& instance)
      : request_(request),
        progress_(progress),
        instance_(instance),
        sums_(instance.fills ? instance.target / 64 + 1 : 1),
        other_(instance.fills ? instance.target / 64 + 1 : 1) {}

  Group run();

 private:
  [[nodiscard]] Policy policy_of(std::string_view rung) const { return request_.policy.with_rung(rung); }
  void fill(const SubsetInstance& instance, std::string_view rung, std::uint64_t* sums) const {
    (void)reachable_sums(policy_of(rung), instance.items.data(), std::ssize(instance.items), instance.target, sums);
  }
  [[nodiscard]] SubsetSum decide(std::int64_t target, std::string_view rung, bool witness) const {
    SubsetSumOptions options{.witness = witness};
    options.reduce = rung.empty();  // a rung by itself does all the work
    return find_subset(policy_of(rung), instance_.items, target, options);
  }
  [[nodiscard]] bool fills(std::string_view rung) const { return instance_.fills && subset_sum::fills(rung); }
  void time_one(std::string_view rung) const {
    if (fills(rung)) {
      fill(instance_, rung, other_.data());
    } else {
      (void)decide(instance_.target, rung, false);
    }
  }
  [[nodiscard]] double estimate(std::string_view rung) const;
  std::string verify_bitmap(std::string_view rung);
  std::string verify_decision(std::string_view rung);
  [[nodiscard]] std::optional<bool> expected_decision() const;
  void verify(Row& row);
  void add_bitset(Group& group, std::vector<Contender>& contenders);
  void time_solver(Group& group);

  const LadderRequest& request_;
  const Progress& progress_;
  const SubsetInstance& instance_;
  Buffer<std::uint64_t> sums_;  // what all rungs must agree on
  mutable Buffer<std::uint64_t> other_;
  bool has_sums_ = false;
  std::vector<std::uint8_t> expected_;  // of the instance, or of the small one
  std::optional<bool> reachable_;
};

/// Seconds by the plan where sums are listed; else by a run on a fraction of the items and of the target: what a rung does
/// grows with both.
double Climb::estimate(std::string_view rung) const {
  constexpr std::int64_t kItems = 8;
  if (!fills(rung)) {
    const auto plan = plan_subset(par, instance_.items, instance_.target, {.witness = false, .reduce = false});
    for (const SubsetSumWay& way : plan.ways) {
      if (way.rung == rung && way.reason.empty()) return way.seconds;
    }
    return 0;
  }
  if (checked_work(instance_) < kLeastEstimated || rung == "cpu.bits_simd") return 0;
  SubsetInstance part = instance_;
  part.items.resize(static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(part.items), kItems)));
  part.target = std::min<std::int64_t>(instance_.target, kDocumentTarget * 4);
  const double factor = checked_work(instance_) / checked_work(part);
  return factor * seconds_of([&] { fill(part, rung, other_.data()); });
}

std::string Climb::verify_bitmap(std::string_view rung) {
  const bool is_small = checked_work(instance_) <= kMostChecked;
  const SubsetInstance part = is_small ? instance_ : small_instance(instance_);
  if (expected_.empty()) expected_ = subset_sum::expected_sums(part.items, part.target);
  std::memset(other_.data(), 0xA5, static_cast<std::size_t>(part.target / 64 + 1) * sizeof(std::uint64_t));
  fill(part, rung, other_.data());
  const std::int64_t wrong = subset_sum::first_wrong(expected_, other_.data());
  if (wrong >= 0) return "wrong from sum " + std::to_string(wrong);
  if (is_small) return "";
  fill(instance_, rung, other_.data());
  const auto bytes = static_cast<std::size_t>(instance_.target / 64 + 1) * sizeof(std::uint64_t);
  if (has_sums_ && std::memcmp(sums_.data(), other_.data(), bytes) != 0) return "another bitmap than the rungs above";
  if (!has_sums_) std::memcpy(sums_.data(), other_.data(), bytes);
  has_sums_ = true;
  return wrong_in_bitmap(instance_, other_.data());
}

/// What the bitmap says about the target, where there is one.
std::optional<bool> Climb::expected_decision() const {
  if (!expected_.empty() && checked_work(instance_) <= kMostChecked) return expected_.back() != 0;
  if (has_sums_) return (sums_.data()[instance_.target / 64] >> (instance_.target % 64) & 1) != 0;
  return std::nullopt;
}

/// One sum that is there, whose items are added up again, and the target, about which all must agree.
std::string Climb::verify_decision(std::string_view rung) {
  const std::int64_t near = reachable_near(instance_);
  const SubsetSum found = decide(near, rung, true);
  std::int64_t sum = 0;
  for (const std::int64_t i : found.indices) sum += instance_.items[static_cast<std::size_t>(i)];
  if (!found || sum != near) return "does not find " + std::to_string(near);
  const bool reachable = decide(instance_.target, rung, false).reachable;
  if (!reachable_) reachable_ = expected_decision().value_or(reachable);
  return reachable == *reachable_ ? "" : "another decision than the rungs above";
}

void Climb::verify(Row& row) {
  try {
    const double estimate = this->estimate(row.rung.id);
    if (estimate > request_.max_seconds) {
      row.reason = estimated(estimate);
      return;
    }
    progress_("verifying " + std::string(row.rung.id) + " on " + std::to_string(instance_.items.size()) + " items");
    row.reason = fills(row.rung.id) ? verify_bitmap(row.rung.id) : verify_decision(row.rung.id);
    row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
  } catch (const Error& error) {
    row.reason = error.what();
    const bool skipped = error.code() == Code::unsupported || error.code() == Code::out_of_memory;
    row.status = skipped ? RowStatus::skipped : RowStatus::failed;
    for (const std::string_view behind : {": ", " "}) {
      const std::string prefix = std::string(row.rung.id) + std::string(behind);
      if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
    }
  }
}

/// The same as C++ programmers write it; for the targets of the usual instances, as its length is part of its type.
template <std::int64_t kTarget>
void bitset_shift_or(const std::vector<std::int64_t>& items) {
  using Bits = std::bitset<static_cast<std::size_t>(kTarget) + 1>;
  static const auto sums = std::make_unique<Bits>();
  static const auto moved = std::make_unique<Bits>();  // sums << item would be on the stack, too large for it
  sums->reset();
  sums->set(0);
  for (const std::int64_t item : items) {
    *moved = *sums;
    *moved <<= static_cast<std::size_t>(item);
    *sums |= *moved;
  }
}

void Climb::add_bitset(Group& group, std::vector<Contender>& contenders) {
  const bool document = instance_.target == kDocumentTarget;
  if (!instance_.fills || !(document || instance_.target == kDenseTarget) || !request_.rung.empty()) return;
  // Its time is the same for every item: of many, ten are timed.
  const auto timed = std::min<std::size_t>(instance_.items.size(), 10);
  const std::vector<std::int64_t> some(instance_.items.begin(),
                                       instance_.items.begin() + static_cast<std::ptrdiff_t>(timed));
  Row row{.rung = {.id = "std::bitset", .idea = "sums |= sums << item", .needs = "any CPU", .kind = Kind::library}};
  row.status = RowStatus::verified;
  if (timed < instance_.items.size()) row.reason = "by ten of the items";
  group.rows.push_back(row);
  contenders.push_back(
      {.name = "std::bitset",
       .run = [some,
               document] { document ? bitset_shift_or<kDocumentTarget>(some) : bitset_shift_or<kDenseTarget>(some); },
       .samples = {}});
}

void Climb::time_solver(Group& group) {
  Subset& subset = *group.subset;
  progress_("timing the solver");
  const SubsetSum decided = decide(instance_.target, "", false);
  subset.reachable = decided.reachable;
  subset.decide_rung = decided.rung;
  subset.found_target = decided.reachable ? instance_.target : reachable_near(instance_);
  std::vector<Contender> contenders;
  for (const bool witness : {false, true}) {
    const std::int64_t target = witness ? subset.found_target : instance_.target;
    contenders.push_back(
        {.name = "", .run = [this, target, witness] { (void)decide(target, "", witness); }, .samples = {}});
  }
  time_in_turn(contenders, 1);
  subset.decide_s = median(contenders[0].samples);
  subset.find_s = median(contenders[1].samples);
}

Group Climb::run() {
  Group group = subset_group(instance_);
  std::vector<Contender> contenders;
  const auto bytes = static_cast<std::int64_t>(group.subset->bitmap_bytes);
  if (instance_.fills) {
    contenders.push_back(
        {.name = "copy",
         .run = [this, bytes] { copy_bytes(other_.data(), sums_.data(), bytes, request_.policy.threads); },
         .samples = {}});
  }
  for (const auto& rung : ladder(Problem::subset_sum)) {
    if (rung.backend() != Backend::cpu || (!request_.rung.empty() && rung.id != request_.rung)) continue;
    Row row{.rung = rung};
    verify(row);
    if (row.status == RowStatus::verified) {
      contenders.push_back({.name = std::string(rung.id), .run = [this, rung] { time_one(rung.id); }, .samples = {}});
    }
    group.rows.push_back(std::move(row));
  }
  add_bitset(group, contenders);
  progress_("timing " + std::to_string(contenders.size()) + " contenders on " + std::to_string(instance_.items.size()) +
            " items");
  time_in_turn(contenders, kBudget);
  const auto n = static_cast<double>(instance_.items.size());
  for (const auto& contender : contenders) {
    const double seconds = median(contender.samples);
    if (contender.name == "copy") group.copy_bytes_per_s = 2 * group.subset->bitmap_bytes / seconds;
    for (Row& row : group.rows) {
      if (row.rung.id != contender.name) continue;
      row.median_s = row.reason.empty() ? seconds : seconds * n / 10;
      row.bytes = fills(row.rung.id) ? 2 * group.subset->bitmap_bytes * n : 0;
    }
  }
  if (request_.rung.empty()) time_solver(group);
  return group;
}

}  // namespace

std::vector<SubsetInstance> subset_instances(const LadderRequest& request, bool on_gpu) {
  const SubsetRequest& asked = request.subset;
  const auto with_target = [&](SubsetInstance instance, std::int64_t usual) {
    instance.target = asked.target >= 0 ? asked.target : usual;
    instance.fills = instance.target <= kMostBits;
    return instance;
  };
  if (!asked.name.empty()) return {with_target({.name = asked.name, .items = asked.items}, 0)};
  std::vector<SubsetInstance> instances;
  instances.reserve(request.sizes.size());
  for (const std::int64_t n : request.sizes) {
    std::int64_t quarter = 0;
    if (__builtin_mul_overflow(n, asked.largest / 4, &quarter)) {
      throw Error(Code::invalid_argument, "--sizes and --largest: a quarter of all items is more than 2^63-1");
    }
    instances.push_back(with_target(made_instance(n, asked.largest, 0), quarter));
  }
  if (!instances.empty()) return instances;
  return {made_instance(10, 10'000'000, kDocumentTarget), made_instance(1000, 10'000'000, kDenseTarget),
          list_instance(on_gpu ? 60 : 56)};
}

SubsetInstance small_instance(const SubsetInstance& instance) {
  SubsetInstance small = instance;
  const double factor = checked_work(instance) / kMostChecked;
  small.target = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(instance.target) / factor), 1);
  for (auto& item : small.items) {
    item = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(item) / factor), 1);
  }
  return small;
}

Group subset_group(const SubsetInstance& instance) {
  Group group{.problem = Problem::subset_sum, .type = Type::int64, .n = std::ssize(instance.items)};
  Subset subset{.target = instance.target, .seed = instance.seed, .fills = instance.fills};
  subset.largest = *std::max_element(instance.items.begin(), instance.items.end());
  const std::int64_t words = instance.target / 64 + 1;
  subset.bitmap_bytes = static_cast<double>(words) * 8;
  std::vector<std::int64_t> ascending = instance.items;
  std::sort(ascending.begin(), ascending.end());
  double prefix = 0;
  double sums = 0;
  for (const std::int64_t item : ascending) {
    prefix += static_cast<double>(item);
    sums += std::min(prefix, static_cast<double>(instance.target)) + 1;
  }
  subset.window = sums / checked_work(instance);
  group.input = instance.name;
  group.subset = subset;
  return group;
}

std::int64_t reachable_near(const SubsetInstance& instance) {
  std::int64_t sum = 0;
  for (const std::int64_t item : instance.items) {
    if (item <= instance.target - sum) sum += item;
  }
  return sum;
}

std::string wrong_in_bitmap(const SubsetInstance& instance, const std::uint64_t* sums) {
  const auto has = [&](std::int64_t sum) { return (sums[sum / 64] >> (sum % 64) & 1) != 0; };
  const std::int64_t least = *std::min_element(instance.items.begin(), instance.items.end());
  for (std::int64_t sum = 1; sum < std::min(least, instance.target + 1); ++sum) {
    if (has(sum)) return "wrong at sum " + std::to_string(sum);
  }
  std::mt19937_64 random(46);
  for (int i = 0; i < 10000; ++i) {
    std::int64_t sum = 0;
    const auto share = random() % 64;  // so many of 64 items
    for (const std::int64_t item : instance.items) {
      if (random() % 64 <= share && item <= instance.target - sum) sum += item;
    }
    if (!has(sum)) return "wrong at sum " + std::to_string(sum);
  }
  return "";
}

std::vector<Group> climb_subset_sum(const LadderRequest& request, const Progress& progress) {
  std::vector<Group> groups;
  if (request.on_cpu && !request.rung.starts_with("cuda.")) {
    for (const auto& instance : subset_instances(request, false))
      groups.push_back(Climb(request, progress, instance).run());
  }
  if (request.on_gpu && !request.rung.starts_with("cpu.")) {
    for (auto& group : climb_on_gpu(request, progress)) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace upsweep::bench
