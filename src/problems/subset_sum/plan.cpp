// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/plan.cpp: the cost model: seconds and bytes of each rung by number of items, target and threads.
//
// The costs were measured on two cores of a Xeon at 2.5 GHz; only their ratios affect the choice. See README.md.
#include "problems/subset_sum/plan.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "problems/subset_sum/rung.hpp"
#include "system/memory.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::impl::subset_sum {
namespace {

constexpr const cpu::tuning::SubsetCosts& kCosts = cpu::tuning::kSubsetCosts;
constexpr double kPerEnumerated = kCosts.per_enumerated;
constexpr double kPerListed = kCosts.per_listed;
constexpr double kPerMatched = kCosts.per_matched;
constexpr double kPerByteInCache = kCosts.per_byte_in_cache;
constexpr double kPerByteOfBits = kCosts.per_byte_of_bits;
constexpr double kPerByteAlone = kCosts.per_byte_alone;
constexpr double kPerByteOfTable = kCosts.per_byte_of_table;
constexpr double kPerNewByte = kCosts.per_new_byte;
constexpr double kStart = kCosts.start;
constexpr double kStartWithMemory = kCosts.start_with_memory;
constexpr double kStartOfClasses = kCosts.start_of_classes;
constexpr double kCachedBits = kCosts.cached_bits;
constexpr std::int64_t kAloneFrom = kCosts.alone_from;
constexpr int kLeastThreads = 16;  // the memory for the lists of at least 16 threads is counted

double power_of_two(std::int64_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent)); }

/// The bytes of a bitmap that its items access, and the seconds for it. With i items added, only sums up to theirs are
/// set.
struct Touched {
  double seconds = 0;
  double bytes = 0;
};

Touched touched(const Question& question) {
  const double limit = static_cast<double>(question.target) + static_cast<double>(question.above);
  const bool in_cache = limit < kCachedBits;
  double prefix = 0;
  Touched all;
  for (const std::int64_t value : question.values) {
    prefix += static_cast<double>(value);
    const double bytes = std::min(prefix, limit) / 8;
    all.bytes += bytes;
    all.seconds += bytes * (in_cache ? kPerByteInCache : value < kAloneFrom ? kPerByteOfBits : kPerByteAlone);
  }
  return all;
}

double bitmap_bytes(const Question& question) {
  const double bits = static_cast<double>(question.target) + static_cast<double>(question.above) + 1;
  return bits / 8;
}

SubsetSumWay enumerate(const Question& question) {
  const std::int64_t n = std::ssize(question.values);
  SubsetSumWay way{.rung = "cpu.enumerate", .bytes = 8192};
  way.seconds = kStart + kPerEnumerated * power_of_two(n);
  if (n > kMostEnumerated) way.reason = too_many(n, kMostEnumerated);
  return way;
}

SubsetSumWay meet_in_the_middle(const Question& question) {
  const std::int64_t n = std::ssize(question.values);
  SubsetSumWay way{.rung = "cpu.meet_in_the_middle"};
  const double half = power_of_two((n + 1) / 2);
  way.bytes = (power_of_two(n / 2) + 1.5 * half) * 8;
  way.seconds = kStartWithMemory + kPerListed * half + kPerNewByte * way.bytes;
  if (n > kMostInLists) way.reason = too_many(n, kMostInLists);
  return way;
}

SubsetSumWay schroeppel_shamir(const Question& question) {
  const std::int64_t n = std::ssize(question.values);
  SubsetSumWay way{.rung = "cpu.schroeppel_shamir"};
  way.bytes = std::max(kLeastThreads, cpu::hardware_threads()) * 64 * power_of_two((n + 3) / 4);
  way.seconds = kStartOfClasses + kPerMatched * power_of_two((n + 1) / 2);
  if (n > kMostByResidues) way.reason = too_many(n, kMostByResidues);
  if (!question.exact()) way.reason = kOneSum;
  return way;
}

SubsetSumWay bits_simd(const Question& question) {
  SubsetSumWay way{.rung = "cpu.bits_simd"};
  // Finding the items needs another bitmap of some of the items, its source, and the checkpoints. It takes about as
  // long as the decision.
  way.bytes = bitmap_bytes(question) * (question.witness ? 2 + static_cast<double>(checkpoints_for(question)) : 1);
  way.seconds = kStartWithMemory + touched(question).seconds * (question.witness ? 2 : 1) + kPerNewByte * way.bytes;
  return way;
}

SubsetSumWay table(std::string_view rung, const Question& question) {
  SubsetSumWay way{.rung = rung};
  const std::int64_t limit = question.target + question.above;
  way.bytes =
      table_bytes(rung, std::ssize(question.values), limit) + bitmap_bytes(question) * (question.witness ? 2 : 1);
  way.seconds = kPerByteOfTable * 8 * bitmap_bytes(question) * static_cast<double>(question.values.size());
  return way;
}

/// Below this number of bytes, the available memory is not checked.
constexpr double kAlwaysThere = 256e6;

}  // namespace

std::string too_many(std::int64_t n, std::int64_t most) {
  return "supports at most " + std::to_string(most) + " items, not " + std::to_string(n);
}

std::string memory_reason(double bytes) {
  if (bytes <= kAlwaysThere) return "";
  const auto there = static_cast<double>(available_memory());
  return bytes <= there ? "" : "needs " + bytes_text(bytes) + " of memory, " + bytes_text(there) + " are free";
}

double table_bytes(std::string_view rung, std::int64_t n, std::int64_t limit) {
  const double column = static_cast<double>(limit) + 1;
  if (rung == "cpu.columns" || rung == "cpu.threads") return 2 * column;
  const bool has_table =
      rung == "cpu.table" || rung == "cuda.array_ops" || rung == "cuda.column" || rung == "cuda.agglomerated";
  return has_table ? column * static_cast<double>(std::max<std::int64_t>(n, 1)) : 0;
}

std::vector<SubsetSumWay> ways_for(const Question& question) {
  return with_memory_reasons(
      {bits_simd(question), enumerate(question), meet_in_the_middle(question), schroeppel_shamir(question)});
}

std::vector<SubsetSumWay> with_memory_reasons(std::vector<SubsetSumWay> ways) {
  for (auto& way : ways) {
    if (way.reason.empty()) way.reason = memory_reason(way.bytes);
  }
  return ways;
}

SubsetSumWay way_of(std::string_view rung, const Question& question) {
  for (auto& way : ways_for(question)) {
    if (way.rung == rung) return way;
  }
  if (rung == "cpu.table" || rung == "cpu.columns" || rung == "cpu.threads") return table(rung, question);
  SubsetSumWay way = bits_simd(question);  // other rungs use the same bitmaps
  way.rung = rung;
  return way;
}

bool any_can(const std::vector<SubsetSumWay>& ways) {
  return std::any_of(ways.begin(), ways.end(), [](const auto& way) { return way.reason.empty(); });
}

SubsetSumWay choose(const std::vector<SubsetSumWay>& ways) {
  const SubsetSumWay* best = nullptr;
  std::string needs;
  for (const auto& way : ways) {
    if (way.reason.empty() && (best == nullptr || way.seconds < best->seconds)) best = &way;
    needs += (needs.empty() ? "" : "; ") + std::string(way.rung) + ": " + way.reason;
  }
  if (best == nullptr) throw Error(Code::out_of_memory, "too large for this machine: " + needs);
  return *best;
}

std::int64_t checkpoints_for(const Question& question) {
  constexpr std::int64_t kItemsApart = 64;  // a copy takes as long as about ten items
  constexpr std::int64_t kMost = 7;         // then the remaining search takes a quarter of the decision's time
  constexpr double kMostBytes = 4e9;        // a constant, so that the answer does not depend on other processes
  if (!question.witness) return 0;
  const double bytes = bitmap_bytes(question);
  const std::int64_t wanted = std::min(std::ssize(question.values) / kItemsApart - 1, kMost);
  const std::int64_t count = std::min(wanted, static_cast<std::int64_t>(kMostBytes / bytes));
  if (count <= 0) return 0;
  return memory_reason(bytes * static_cast<double>(count + 2)).empty() ? count : 0;
}

void require_memory(const SubsetSumWay& way) {
  if (const std::string reason = memory_reason(way.bytes); !reason.empty()) {
    throw Error(Code::out_of_memory, std::string(way.rung) + " " + reason);
  }
}

}  // namespace upsweep::impl::subset_sum
