// SPDX-License-Identifier: Apache-2.0
// sql/query/device_fold.cpp: creates and launches a chunk's kernels, and reads the groups' states from their results.
#include "sql/query/device_fold.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "sql/expression/members.hpp"
#include "upsweep/detail/tuning/query.hpp"

namespace upsweep::query {
namespace {

constexpr std::int64_t kMostDirect = gpu::tuning::kQuery.most_direct;
constexpr std::int64_t kMostNumbered = gpu::tuning::kQuery.most_numbered;

std::uint64_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
Int128 join(const std::uint64_t* words) { return static_cast<Int128>(static_cast<UInt128>(words[1]) << 64 | words[0]); }

const Dictionary& dictionary_of(const DeviceChunk& chunk, int column) {
  return *chunk.columns[static_cast<std::size_t>(column)].dictionary;
}

/// Returns the members as an array of i64, i128 or double. If the operand has 64 bits, only the members that fit 64
/// bits.
std::vector<std::uint64_t> words_of(const MemberTest& test) {
  std::vector<std::uint64_t> words;
  const Members& members = *test.node->members;
  for (const double value : members.reals()) words.push_back(std::bit_cast<std::uint64_t>(value));
  for (const Int128 value : members.exact()) {
    if (test.form != Form::wide && (value < INT64_MIN || value > INT64_MAX)) continue;
    words.push_back(static_cast<std::uint64_t>(value));
    if (test.form == Form::wide) words.push_back(static_cast<std::uint64_t>(value >> 64));
  }
  return words;
}

/// Returns the entries of a dictionary in sorted order.
std::vector<std::int32_t> order_of(const Dictionary& entries) {
  std::vector<std::int32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return entries[static_cast<std::size_t>(a)] < entries[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

DeviceFold::DeviceFold(const QueryPlan& plan, gpu::Staging& staging, int first_array, std::int64_t most_bytes)
    : plan_(plan),
      staging_(staging),
      first_array_(first_array),
      most_bytes_(most_bytes),
      launches_(plan, gpu::launch_limits(staging.device()), most_bytes),
      columns_(plan.columns.size(), {.bits = 0}) {}

/// Widens the shapes for the chunk. They still allow the values of earlier chunks, so that few chunks need separate
/// code.
void DeviceFold::widen_shapes(const DeviceChunk& chunk) {
  for (std::size_t c = 0; c < chunk.columns.size(); ++c) {
    ColumnShape& shape = columns_[c];
    shape.bits = std::max(shape.bits, rounded_bits(chunk.columns[c].bits));
    shape.nullable = shape.nullable || chunk.columns[c].validity != nullptr;
  }
}

std::optional<Groups> DeviceFold::fold(const DeviceChunk& chunk) {
  if (chunk.rows == 0) return Groups(plan_);
  widen_shapes(chunk);
  if (plan_.keys.empty()) return fold(chunk, launches_.fold(chunk, columns_, Keying::none, 1), 1, nullptr);
  if (const auto groups = direct_groups(chunk)) {
    const FoldLaunch launch = launches_.fold(chunk, columns_, Keying::direct, *groups);
    if (launch.options.copies == Copies::threads) return fold(chunk, launch, *groups, nullptr);
  }
  const auto numbered = number(chunk);
  if (!numbered) return std::nullopt;
  if (numbered->groups == 0) return Groups(plan_);
  return fold(chunk, launches_.fold(chunk, columns_, Keying::hashed, numbered->groups), numbered->groups, &*numbered);
}

// ------------------------------------------------------------------------------------------------------------ grouping

/// Returns the number of values that each key can have, including NULL.
std::vector<std::int64_t> DeviceFold::slots(const DeviceChunk& chunk) const {
  std::vector<std::int64_t> all;
  for (const Node& key : plan_.keys) {
    const auto column = static_cast<std::size_t>(key->column);
    const auto& dictionary = chunk.columns[column].dictionary;
    all.push_back((dictionary ? std::ssize(*dictionary) : 2) + (columns_[column].nullable ? 1 : 0));
  }
  return all;
}

/// Returns the number of groups if it follows from the keys' dictionaries and booleans.
std::optional<std::int64_t> DeviceFold::direct_groups(const DeviceChunk& chunk) const {
  for (const Node& key : plan_.keys) {
    const ValueKind kind = key->type.kind;
    if (key->op != Op::column || (kind != ValueKind::text && kind != ValueKind::boolean)) return std::nullopt;
  }
  std::int64_t groups = 1;
  for (const std::int64_t slots : slots(chunk)) {
    groups *= std::max<std::int64_t>(slots, 1);
    if (groups > kMostDirect) return std::nullopt;
  }
  return groups;
}

/// Writes every row's group into Array::ids, and returns the groups' keys. Returns nothing if there are too many groups
/// (also for the memory), or if a key cannot be computed.
std::optional<DeviceFold::Numbered> DeviceFold::number(const DeviceChunk& chunk) {
  const SourceOptions options{
      .columns = columns_, .keying = Keying::hashed, .copies = Copies::threads, .threads = kBlockThreads};
  Numbered all{.kernel = plan_.kernels->number(plan_, options)};
  const KernelSource& source = all.kernel->source();
  const auto program = all.kernel->program(staging_.device(), compile_seconds_);
  for (const std::int64_t limit : {std::int64_t{1} << 12, std::int64_t{1} << 16, kMostNumbered}) {
    const std::int64_t tags = 4 * limit;
    if (tags * 4 + limit * source.words * kDeviceWord > most_bytes_ / 2) return std::nullopt;
    auto* const control = array<std::uint64_t>(Array::merged, kControlWords);
    auto words = arguments(chunk, source, options.keying);
    words[argument::trouble] = address(control);
    words[argument::found] = address(control) + offsetof(DeviceControl, found);
    words[argument::ids] = address(array<std::int32_t>(Array::ids, chunk.rows));
    words[argument::tags] = address(array<std::uint32_t>(Array::tags, tags));
    words[argument::keys] = address(array<std::uint64_t>(Array::keys, limit * source.words));
    words[argument::mask] = static_cast<std::uint64_t>(tags - 1);
    words[argument::limit] = static_cast<std::uint64_t>(limit);
    words = passed(source, std::move(words));
    DeviceControl result;
    const auto number_rows = [&](const gpu::Policy& policy) {
      staging_.fill(control, 0, sizeof(DeviceControl));
      staging_.fill(array<std::uint32_t>(Array::tags, tags), 0, tags * 4);
      program->launch("number_rows", launches_.blocks_for(chunk.rows, options.threads, source.rows_per_thread, 0),
                      options.threads, 0, policy.stream, words);
    };
    staging_.compute_and_fetch(number_rows, &result, control, sizeof result);
    if (result.trouble != 0) return std::nullopt;
    if (result.is_full != 0) continue;
    all.groups = result.found;
    all.keys.resize(static_cast<std::size_t>(all.groups * source.words));
    if (all.groups > 0) {
      staging_.copy_out(all.keys.data(), array<std::uint64_t>(Array::keys, limit * source.words),
                        std::ssize(all.keys) * kDeviceWord);
    }
    return all;
  }
  return std::nullopt;
}

void DeviceFold::add_keys(const DeviceChunk& chunk, const Numbered* numbered, std::int64_t group, Groups& groups,
                          std::vector<Int128>& key, std::vector<std::uint8_t>& nulls) const {
  const std::vector<std::int64_t> all_slots = numbered == nullptr ? slots(chunk) : std::vector<std::int64_t>();
  const std::uint64_t* words =
      numbered == nullptr ? nullptr : numbered->keys.data() + group * numbered->kernel->source().words;
  const std::uint64_t* const null_bits =
      words == nullptr ? nullptr : words + numbered->kernel->source().words - null_words(plan_.keys.size());
  const std::size_t width = plan_.keys.size();
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t k = words == nullptr ? width - 1 - i : i;  // the slots of the last key are adjacent
    const Expression& node = *plan_.keys[k];
    if (words == nullptr) {
      const std::int64_t slot = group % all_slots[k];
      group /= all_slots[k];
      nulls[k] = columns_[static_cast<std::size_t>(node.column)].nullable && slot == all_slots[k] - 1 ? 1 : 0;
      key[k] = slot;
    } else {
      const bool wide = numbered->kernel->source().wide_keys[k];
      nulls[k] = static_cast<std::uint8_t>(null_bits[k / kNullsPerWord] >> k % kNullsPerWord & 1);
      key[k] = wide ? join(words) : Int128{static_cast<std::int64_t>(words[0])};
      words += wide ? 2 : 1;
    }
    if (nulls[k] != 0) {
      key[k] = 0;
    } else if (node.type.kind == ValueKind::text) {
      key[k] = groups.string_key(dictionary_of(chunk, node.column)[static_cast<std::size_t>(key[k])]);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- folding

/// Returns the kernel arguments, except the words that only one kernel uses. Uploads tables of dictionaries to the
/// device.
std::vector<std::uint64_t> DeviceFold::arguments(const DeviceChunk& chunk, const KernelSource& source, Keying keying) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(source.arguments), 0);
  words[argument::rows] = static_cast<std::uint64_t>(chunk.rows);
  std::size_t next = argument::first_column;
  for (const DeviceColumn& column : chunk.columns) {
    words[next++] = address(column.values);
    words[next++] = address(column.validity);
  }
  int table = first_array_ + static_cast<int>(Array::tables);
  for (const Expression* test : source.string_tests) {
    std::vector<std::uint8_t> passing;
    for (const std::string_view string : dictionary_of(chunk, test->args[0]->column)) {
      passing.push_back(passes(*test, string) ? 1 : 0);
    }
    passing.resize(std::max<std::size_t>(passing.size(), 1));
    words[next++] = address(staging_.upload(table++, passing.data(), std::ssize(passing)));
  }
  for (const int column : source.ranked) {
    const std::vector<std::int32_t> order = order_of(dictionary_of(chunk, column));
    std::vector<std::int32_t> ranks(std::max<std::size_t>(order.size(), 1));
    for (std::size_t i = 0; i < order.size(); ++i) {
      ranks[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    }
    words[next++] = address(staging_.upload(table++, ranks.data(), std::ssize(ranks) * 4));
  }
  for (const std::uint64_t word : source.literals) words[next++] = word;
  for (const MemberTest& test : source.member_tests) {
    std::vector<std::uint64_t> members = words_of(test);
    const auto count = members.size() / (test.form == Form::wide ? 2 : 1);
    members.resize(std::max<std::size_t>(members.size(), 1));
    words[next++] = address(staging_.upload(table++, members.data(), std::ssize(members) * kDeviceWord));
    words[next++] = count;
  }
  if (keying == Keying::direct) {
    for (const std::int64_t slots : slots(chunk)) words[next++] = static_cast<std::uint64_t>(slots);
  }
  return words;
}

/// Returns the words that a launch passes: the arguments, or their address in device memory.
std::vector<std::uint64_t> DeviceFold::passed(const KernelSource& source, std::vector<std::uint64_t> words) {
  if (!source.has_words_in_memory()) return words;
  const int array = first_array_ + static_cast<int>(Array::words);
  return {address(staging_.upload(array, words.data(), std::ssize(words) * kDeviceWord))};
}

std::optional<Groups> DeviceFold::fold(const DeviceChunk& chunk, const FoldLaunch& launch, std::int64_t groups,
                                       const Numbered* numbered) {
  if (launch.blocks == 0) return std::nullopt;
  const KernelSource& source = launch.kernel->source();
  const auto program = launch.kernel->program(staging_.device(), compile_seconds_);
  const bool by_warps = launch.options.copies == Copies::warps;
  const std::int64_t own_bytes = groups * source.own_words * kDeviceWord;
  const std::int64_t merged_words = kControlWords + groups * source.words;
  auto* const control = array<std::uint64_t>(Array::merged, merged_words);
  auto* const partials = array<std::uint64_t>(Array::partials, launch.copies * groups * source.own_words);
  auto words = arguments(chunk, source, launch.options.keying);
  words[argument::groups] = static_cast<std::uint64_t>(groups);
  words[argument::copies] = static_cast<std::uint64_t>(launch.copies);
  words[argument::partials] = address(partials);
  words[argument::merged] = address(control + kControlWords);
  words[argument::trouble] = address(control);
  words[argument::ids] = numbered == nullptr ? 0 : address(array<std::int32_t>(Array::ids, chunk.rows));
  words = passed(source, std::move(words));
  const auto fold_and_merge = [&](const gpu::Policy& policy) {
    staging_.fill(control, 0, sizeof(DeviceControl));
    if (by_warps) staging_.fill(partials, 0, launch.copies * own_bytes);
    program->launch("fold", launch.blocks, launch.options.threads, launch.shared_bytes, policy.stream, words);
    constexpr std::int64_t kMergeWarps = gpu::tuning::kQuery.merge_warps;
    program->launch("merge", std::min((groups + kMergeWarps - 1) / kMergeWarps, std::int64_t{1} << 16),
                    32 * kMergeWarps, 0, policy.stream, words);
  };
  std::vector<std::uint64_t> merged(static_cast<std::size_t>(merged_words));
  staging_.compute_and_fetch(fold_and_merge, merged.data(), control, merged_words * kDeviceWord);
  if (std::bit_cast<DeviceControl>(std::array{merged[0], merged[1]}).trouble != 0) return std::nullopt;
  return groups_of(chunk, source, numbered, groups, merged.data() + kControlWords);
}

Groups DeviceFold::groups_of(const DeviceChunk& chunk, const KernelSource& source, const Numbered* numbered,
                             std::int64_t groups, const std::uint64_t* merged) const {
  const auto state_of = [&](std::int64_t g) { return merged + g * source.words; };
  const auto at = [&](int cell) { return source.cells[static_cast<std::size_t>(cell)].at; };
  std::vector<std::int64_t> seen;
  for (std::int64_t g = 0; g < groups; ++g) {
    if (state_of(g)[0] > 0) seen.push_back(g);
  }
  if (plan_.grouped) {  // in the order of their first rows
    std::sort(seen.begin(), seen.end(), [&](auto a, auto b) { return state_of(a)[at(1)] < state_of(b)[at(1)]; });
  }
  std::vector<std::vector<std::int32_t>> orders(plan_.columns.size());
  for (const int column : source.ranked) {
    orders[static_cast<std::size_t>(column)] = order_of(dictionary_of(chunk, column));
  }
  Groups all(plan_);
  std::vector<Int128> key(plan_.keys.size());
  std::vector<std::uint8_t> nulls(plan_.keys.size());
  for (const std::int64_t g : seen) {
    if (!plan_.keys.empty()) add_keys(chunk, numbered, g, all, key, nulls);
    const std::int64_t place = all.find(key.data(), nulls.data());
    const std::uint64_t* const words = state_of(g);
    for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
      State state = all.state(place, a);
      state.count = static_cast<std::int64_t>(words[at(source.counts[a])]);
      if (source.values[a] < 0 || state.count == 0) {
        all.set_state(place, a, state);
        continue;
      }
      const StateCell& cell = source.cells[static_cast<std::size_t>(source.values[a])];
      const std::uint64_t* const value = words + cell.at;
      if (cell.real) {
        const std::uint64_t flipped = cell.kind == StateCell::Kind::sum ? std::uint64_t{1} << 63 : 0;  // see flip_of()
        state.set_real(std::bit_cast<double>(*value ^ flipped));
      } else {
        state.exact = cell.wide ? join(value) : Int128{static_cast<std::int64_t>(*value)};
      }
      if (plan_.aggregates[a].type.kind == ValueKind::text && plan_.aggregates[a].fold != Fold::count) {
        const int column = plan_.aggregates[a].input->column;
        const std::int32_t entry = orders[static_cast<std::size_t>(column)][static_cast<std::size_t>(state.exact)];
        state.exact = all.entry(dictionary_of(chunk, column)[static_cast<std::size_t>(entry)]);
      }
      all.set_state(place, a, state);
    }
  }
  return all;
}

}  // namespace upsweep::query
