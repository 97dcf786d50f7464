// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/instance.cpp: makes the instances of a ladder run, fills bitmaps or decides, and checks the
// results; also times std::bitset.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "climb/clock.hpp"
#include "climb/guest.hpp"
#include "climb/problem.hpp"
#include "cpu/parallel.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/ladder.hpp"
#include "problems/subset_sum/reference.hpp"
#include "problems/subset_sum/rung.hpp"
#include "system/pages.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::impl::subset_sum {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSeed = 12;
constexpr std::int64_t kLargest = 10'000'000;
constexpr std::int64_t kSmallTarget = 25'000'000;
constexpr std::int64_t kDenseTarget = 1'000'000'000;
// Maximum number of item-sums for which a bitmap is checked sum by sum: one second.
constexpr double kMostChecked = 2e9;
// Minimum number of item-sums for which a time is estimated: a tenth of a second by the slowest rung.
constexpr double kLeastEstimated = 1e8;
// A bitmap of this number of bits is 16 GB: with a larger target, rungs only decide.
constexpr std::int64_t kMostBits = std::int64_t{1} << 37;

struct Items {
  std::string name = {};  ///< of real items
  std::vector<std::int64_t> values = {};
  std::int64_t target = 0;
  bool fills = true;  ///< whether bitmaps are filled; otherwise rungs only decide the target

  [[nodiscard]] std::int64_t size() const { return std::ssize(values); }
  /// Returns n·(target + 1).
  [[nodiscard]] double work() const { return static_cast<double>(size()) * (static_cast<double>(target) + 1); }
  [[nodiscard]] double bitmap_bytes() const {
    return static_cast<double>(detail::words_of(target)) * sizeof(std::uint64_t);
  }

  /// Returns a smaller instance of the same kind, on which a bitmap can be checked sum by sum.
  [[nodiscard]] Items shrunk() const {
    const double factor = std::max(work() / kMostChecked, 1.0);
    const auto shrink = [&](std::int64_t value) {
      return factor > 1 ? std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(value) / factor), 1)
                        : value;
    };
    Items small = *this;
    small.target = shrink(target);
    for (std::int64_t& item : small.values) item = shrink(item);
    return small;
  }
  /// Returns a sum near the target that some of the items add up to.
  [[nodiscard]] std::int64_t reachable_near() const {
    std::int64_t sum = 0;
    for (const std::int64_t item : values) {
      if (item <= target - sum) sum += item;
    }
    return sum;
  }
};

/// Returns the fraction of the n·(target + 1) sums that can be reached when their item is added.
double window(const Items& items) {
  std::vector<std::int64_t> ascending = items.values;
  std::sort(ascending.begin(), ascending.end());
  double prefix = 0;
  double reached = 0;
  for (const std::int64_t item : ascending) {
    prefix += static_cast<double>(item);
    reached += std::min(prefix, static_cast<double>(items.target)) + 1;
  }
  return reached / items.work();
}

/// Checks a bitmap that is too large to be checked sum by sum. Returns "" or the error: missing sums of random subsets,
/// or set bits below the smallest item.
std::string wrong_in_bitmap(const Items& items, const std::uint64_t* sums) {
  const std::int64_t least = *std::min_element(items.values.begin(), items.values.end());
  for (std::int64_t sum = 1; sum < std::min(least, items.target + 1); ++sum) {
    if (has(sums, sum)) return "wrong at sum " + std::to_string(sum);
  }
  std::mt19937_64 random(46);
  for (int i = 0; i < 10000; ++i) {
    std::int64_t sum = 0;
    const auto share = random() % 64;  // the subset has about this number of 64 items
    for (const std::int64_t item : items.values) {
      if (random() % 64 <= share && item <= items.target - sum) sum += item;
    }
    if (!has(sums, sum)) return "wrong at sum " + std::to_string(sum);
  }
  return "";
}

// ------------------------------------------------------------------------------------------------------- an instance

class SubsetInstance final : public Instance {
 public:
  SubsetInstance(Items items, int per_thread);

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{sums_.data(), sums_.size() * std::int64_t{sizeof(std::uint64_t)}, true}};
  }
  /// A large bitmap is first checked on fewer sums.
  [[nodiscard]] int fills() const override { return items_.fills && items_.work() > kMostChecked ? 2 : 1; }
  void fill(int which) override;
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override { return run_by(policy, at, n); }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override { return run_by(policy, at, n); }
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override {
    run_guest_on(now_, std::get<int>(place), at, n);
  }
  /// A guest only fills bitmaps.
  [[nodiscard]] bool takes(const RungInfo& rung) const override {
    return Instance::takes(rung) && (items_.fills || !is_guest(rung));
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return fills_bitmap(policy.rung) ? gpu::reachable_sums_workspace(policy, items_.size(), items_.target)
                                     : gpu::WorkspaceSize{};
  }
  [[nodiscard]] bool waits(const RungInfo& rung) const override { return !fills_bitmap(rung.id); }
  [[nodiscard]] std::string wrong(const RungInfo& rung) override {
    return fills_bitmap(rung.id) ? wrong_bitmap() : wrong_decision();
  }
  [[nodiscard]] double bytes(const RungInfo& rung) const override {
    return fills_bitmap(rung.id) ? 2 * items_.bitmap_bytes() * static_cast<double>(items_.size()) : 0;
  }
  std::optional<double> estimate(const RungInfo& rung) override;
  [[nodiscard]] std::vector<Peer> peers() override;
  void finish(int threads) override;

 private:
  [[nodiscard]] bool fills_bitmap(std::string_view rung) const {
    return items_.fills && (rung.starts_with("guest.") || impl::subset_sum::fills(rung));
  }
  void run_guest_on(const Items& items, int threads, Arrays at, std::int64_t n) const {
    guest->call<decltype(upsweep_rung_subset_sum)>(items.values.data(), n, items.target,
                                                   static_cast<std::uint64_t*>(at[0]), threads);
  }
  template <class AnyPolicy>
  std::string_view run_by(const AnyPolicy& policy, Arrays at, std::int64_t n);
  std::string wrong_bitmap();
  std::string wrong_decision();
  [[nodiscard]] std::optional<bool> expected_decision() const;

  Items items_;
  Items now_;  // the current instance: items_, or the smaller one that is checked sum by sum
  int per_thread_;
  cpu::Pages<std::uint64_t> sums_;
  cpu::Pages<std::uint64_t> agreed_;    // the bitmap that all rungs must agree on, if it is too large to be checked
  std::vector<std::uint8_t> expected_;  // the sums of now_, if they can be checked
  std::optional<bool> reachable_;       // the decision that all rungs must agree on
  bool decision_ = false;               // of the last run that decided
  // Runs find_subset with the rung and the device of the last run that decided.
  std::function<SubsetSum(std::int64_t target, bool witness)> find_;
};

SubsetInstance::SubsetInstance(Items items, int per_thread)
    : items_(std::move(items)),
      now_(items_),
      per_thread_(per_thread),
      sums_(items_.fills ? detail::words_of(items_.target) : 1) {
  const std::int64_t largest = *std::max_element(items_.values.begin(), items_.values.end());
  group.title = "subset-sum of " + grouped(items_.size()) + " items up to " + grouped(largest);
  group.lines.push_back((items_.fills ? "every sum up to " : "one target: ") + grouped(items_.target));
  if (items_.name.empty()) group.lines.push_back("items generated with seed " + std::to_string(kSeed));
  group.input = items_.name;
  group.n = items_.size();
  group.facts = {{"target", items_.target},
                 {"largest", largest},
                 {"seed", items_.name.empty() ? Fact::second_type(kSeed) : Fact::second_type()},
                 {"fills", items_.fills}};
  if (!items_.fills) return;
  const double reached = window(items_);
  std::array<char, 96> text{};
  (void)std::snprintf(text.data(), text.size(), "a bitmap of %s; %.2f of all sums can be reached when an item is added",
                      bytes_text(items_.bitmap_bytes()).c_str(), reached);
  group.lines.emplace_back(text.data());
  group.limit_bytes = 2 * items_.bitmap_bytes();
  group.work = items_.work();
  group.work_unit = "sums";
  group.facts.emplace_back("window", reached);
}

void SubsetInstance::fill(int which) {
  now_ = which == fills() - 1 ? items_ : items_.shrunk();
  expected_.clear();
  if (items_.fills && now_.work() <= 1.01 * kMostChecked) expected_ = expected_sums(now_.values, now_.target);
}

template <class AnyPolicy>
std::string_view SubsetInstance::run_by(const AnyPolicy& policy, Arrays at, std::int64_t n) {
  if (fills_bitmap(policy.rung)) {
    detail::SubsetSumCall call =
        detail::fill_call(now_.values.data(), n, now_.target, static_cast<std::uint64_t*>(at[0]));
    call.per_thread = per_thread_;
    return detail::run_reachable_sums(policy, call);
  }
  // Without reductions, the rung does all the work.
  find_ = [this, policy](std::int64_t target, bool witness) {
    return find_subset(policy, items_.values, target, {.witness = witness, .reduce = false});
  };
  const SubsetSum found = find_(items_.target, false);
  decision_ = found.reachable;
  return found.rung;
}

std::string SubsetInstance::wrong_bitmap() {
  if (!expected_.empty()) {
    const std::int64_t wrong = first_wrong(expected_, sums_.data());
    if (wrong < 0) return "";
    return "wrong from sum " + std::to_string(wrong) +
           (has(sums_.data(), wrong) ? ": 0 expected, 1 found" : ": 1 expected, 0 found");
  }
  const auto bytes = static_cast<std::size_t>(items_.bitmap_bytes());
  if (agreed_.size() == 0) {
    agreed_ = cpu::Pages<std::uint64_t>(sums_.size());
    std::memcpy(agreed_.data(), sums_.data(), bytes);
  }
  if (std::memcmp(agreed_.data(), sums_.data(), bytes) != 0) return "bitmap differs from that of the rungs above";
  return wrong_in_bitmap(items_, sums_.data());
}

/// Returns the decision that follows from the bitmap, if there is one.
std::optional<bool> SubsetInstance::expected_decision() const {
  if (!expected_.empty() && now_.target == items_.target) return expected_.back() != 0;
  if (agreed_.size() == 0) return std::nullopt;
  return has(agreed_.data(), items_.target);
}

/// Checks two decisions: a reachable sum, whose items are added up again, and the target, about which all rungs must
/// agree.
std::string SubsetInstance::wrong_decision() {
  const std::int64_t near = items_.reachable_near();
  const SubsetSum found = find_(near, true);
  std::int64_t sum = 0;
  for (const std::int64_t i : found.indices) sum += items_.values[static_cast<std::size_t>(i)];
  if (!found || sum != near) return "does not find " + std::to_string(near);
  if (!reachable_) reachable_ = expected_decision().value_or(decision_);
  return decision_ == *reachable_ ? "" : "decision differs from that of the rungs above";
}

/// Estimates a time by the plan, if sums are listed. Otherwise it runs a fraction of the items and of the target: a
/// rung's work grows with both.
std::optional<double> SubsetInstance::estimate(const RungInfo& rung) {
  constexpr std::int64_t kItems = 8;
  if (rung.backend() == Backend::cuda) return 0;
  if (!fills_bitmap(rung.id)) {
    const auto plan = plan_subset(par, items_.values, items_.target, {.witness = false, .reduce = false});
    for (const SubsetSumWay& way : plan.ways) {
      if (way.rung == rung.id && way.reason.empty()) return way.seconds;
    }
    return 0;
  }
  if (items_.work() < kLeastEstimated || rung.id == "cpu.bits_simd") return 0;
  Items small = items_;
  small.values.resize(static_cast<std::size_t>(std::min(small.size(), kItems)));
  small.target = std::min<std::int64_t>(items_.target, kSmallTarget * 4);
  const double seconds = HostClock().seconds_of([&] {
    void* const at[] = {sums_.data()};
    if (is_guest(rung)) return run_guest_on(small, cpu::worker_count(0), at, small.size());
    (void)reachable_sums(par.with_rung(rung.id), small.values.data(), small.size(), small.target, sums_.data());
  });
  return seconds * items_.work() / small.work();
}

// --------------------------------------------------------------------------------------------------------- std::bitset

/// Does the same as C++ programmers write it, for the targets of the usual instances, because the length is part of its
/// type.
template <std::int64_t kTarget>
void bitset_shift_or(const std::vector<std::int64_t>& items) {
  using Bits = std::bitset<static_cast<std::size_t>(kTarget) + 1>;
  static const auto sums = std::make_unique<Bits>();
  static const auto moved = std::make_unique<Bits>();  // sums << item would be too large for the stack
  sums->reset();
  sums->set(0);
  for (const std::int64_t item : items) {
    *moved = *sums;
    *moved <<= static_cast<std::size_t>(item);
    *sums |= *moved;
  }
}

std::vector<Peer> SubsetInstance::peers() {
  const bool small = items_.target == kSmallTarget;
  if (!items_.fills || !(small || items_.target == kDenseTarget)) return {};
  // Its time is the same for every item: at most ten items are timed.
  const auto timed = std::min<std::int64_t>(items_.size(), 10);
  Peer peer{.row = {.rung = {.id = "std::bitset",
                             .idea = "sums |= sums << item",
                             .needs = "any CPU",
                             .traffic = kBitTraffic,
                             .kind = Kind::library,
                             .threads = Threads::one},
                    .status = RowStatus::verified,
                    .bytes = 2 * items_.bitmap_bytes() * static_cast<double>(items_.size())},
            .run = [some = std::vector(items_.values.begin(), items_.values.begin() + timed),
                    small] { small ? bitset_shift_or<kSmallTarget>(some) : bitset_shift_or<kDenseTarget>(some); },
            .share = static_cast<double>(timed) / static_cast<double>(items_.size())};
  if (peer.share < 1) peer.row.reason = "by ten of the items";
  return {peer};
}

/// Times the solver, which first reduces the instance and chooses the rung.
void SubsetInstance::finish(int threads) {
  const Policy policy = par.with_threads(threads);
  const auto find = [&](std::int64_t target, bool witness) {
    return find_subset(policy, items_.values, target, {.witness = witness});
  };
  const SubsetSum decided = find(items_.target, false);
  const std::int64_t found = decided.reachable ? items_.target : items_.reachable_near();
  std::vector<Contender> contenders{{.name = "", .run = [&] { (void)find(items_.target, false); }},
                                    {.name = "", .run = [&] { (void)find(found, true); }}};
  HostClock clock;
  time_in_turn(contenders, clock, 0.5);
  group.facts.insert(group.facts.end(), {{"decide_s", contenders[0].median()},
                                         {"decide_rung", std::string(decided.rung)},
                                         {"reachable", decided.reachable},
                                         {"found_target", found},
                                         {"find_s", contenders[1].median()}});
  group.times = {{"the API decides by " + std::string(decided.rung) + ": " + (decided.reachable ? "yes" : "no"),
                  contenders[0].median()},
                 {"the API finds the items of " + grouped(found), contenders[1].median()}};
}

// ----------------------------------------------------------------------------------------------------------- instances

Items generated_items(std::int64_t n, std::int64_t largest, std::int64_t target) {
  std::mt19937_64 random(static_cast<std::uint64_t>(kSeed));
  Items items;
  for (std::int64_t i = 0; i < n; ++i) {
    items.values.push_back(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest)));
  }
  items.target = target;
  items.fills = target <= kMostBits;
  return items;
}

/// Makes an instance for lists. The target is one more than the sum of every other item. It is rarely reachable, so
/// that the whole search is timed.
Items list_items(std::int64_t n) {
  Items items = generated_items(n, std::int64_t{1} << 57, 1);
  for (std::size_t i = 0; i < items.values.size(); i += 2) items.target += items.values[i];
  items.fills = false;
  return items;
}

/// Scales a value by 10^digits. Throws invalid_argument if it overflows.
std::int64_t scaled(std::int64_t value, int digits, std::string_view what) {
  for (int i = 0; i < digits; ++i) {
    if (!__builtin_mul_overflow(value, 10, &value)) continue;
    throw Error(Code::invalid_argument, std::string(what) + " is too large when scaled to the maximum of decimals");
  }
  return value;
}

Items real_items(const ClimbRequest& request) {
  const Column& column = request.input[0];
  const std::optional<Setting> target = setting(request, "target");
  if (column.count == 0) throw Error(Code::empty, column.name + ": has no items to climb on");
  if (!target) throw Error(Code::invalid_argument, "--input needs a --target");
  if (setting(request, "largest")) {
    throw Error(Code::invalid_argument, "--largest applies only to generated items: omit it or --input");
  }
  const auto* const values = static_cast<const std::int64_t*>(column.data.get());
  const int scale = std::max(column.scale, target->scale);
  Items items{.name = column.name};
  for (std::int64_t i = 0; i < column.count; ++i) {
    items.values.push_back(scaled(values[i], scale - column.scale, column.name + ": an item"));
  }
  items.target = scaled(target->value, scale - target->scale, "--target");
  items.fills = items.target <= kMostBits;
  return items;
}

Items sized_items(const ClimbRequest& request, std::int64_t n) {
  const std::int64_t largest = setting(request, "largest").value_or(Setting{kLargest}).value;
  std::int64_t quarter = 0;
  if (__builtin_mul_overflow(n, largest / 4, &quarter)) {
    throw Error(Code::invalid_argument, "--sizes and --largest: a quarter of all items is more than 2^63-1");
  }
  const Setting target = setting(request, "target").value_or(Setting{quarter});
  if (target.scale > 0) throw Error(Code::invalid_argument, "--target: generated items have no decimals");
  return generated_items(n, largest, target.value);
}

/// Returns the instance of "Subset sum on a GPU", a dense one, and one for lists.
std::vector<Items> usual_items(Backend backend) {
  return {generated_items(10, kLargest, kSmallTarget), generated_items(1000, kLargest, kDenseTarget),
          list_items(backend == Backend::cpu ? 56 : 60)};
}

void visit_instances(const ClimbRequest& request, Backend backend, const Problem::Visit& visit) {
  const auto per_thread = static_cast<int>(setting(request, "per-thread").value_or(Setting{8}).value);
  const auto visit_items = [&](Items items) {
    SubsetInstance instance(std::move(items), per_thread);
    visit(instance);
  };
  if (!request.input.empty()) return visit_items(real_items(request));
  if (!request.sizes.empty()) {
    for (const std::int64_t n : request.sizes) visit_items(sized_items(request, n));
    return;
  }
  for (Items& items : usual_items(backend)) visit_items(std::move(items));
}

constexpr InputInfo kInputs[] = {{.name = "ITEMS", .type = Type::int64, .positive = true}};
constexpr SettingInfo kSettings[] = {
    {.name = "target",
     .help = "sums up to S (default: a quarter of --sizes times --largest)",
     .most = kMost,
     .decimal = true},
    {.name = "largest", .help = "generated items are 1 to M (default: 10000000)", .least = 1, .most = kMost},
    {.name = "per-thread", .help = "sums per thread of cuda.agglomerated (default: 8)", .least = 1, .most = 1024}};

// A dense instance, one for lists, and that of "Subset sum on a GPU".
constexpr Study kStudies[] = {{.name = "aubanel2021"}, {.name = "threads", .scales = true}};

}  // namespace

extern constexpr Problem kProblem{
    .info = []() -> ProblemInfo {
      return {.name = "subset-sum", .rungs = rungs(), .inputs = kInputs, .settings = kSettings};
    },
    .visit_instances = visit_instances,
    .studies = kStudies};

}  // namespace upsweep::impl::subset_sum
