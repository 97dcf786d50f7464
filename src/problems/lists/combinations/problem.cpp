// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/problem.cpp: the ladder in order, the choice of a rung, and the public calls: check
// lists, count tuples, run, throw failures as Errors.
#include <atomic>
#include <new>
#include <string>

#include "core/apart.hpp"
#include "core/lists.hpp"
#include "cpu/combination_kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/combinations/rung.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::combinations {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_shares, cuda_merge_path;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_shares, &cuda_merge_path};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

TupleWorkUnit::TupleWorkUnit(const Call& call, Isa isa)
    : call_(call), isa_(isa), inputs_(call.inputs.size()), tuples_(static_cast<std::size_t>(cpu::kBlockLists)) {}

std::int64_t TupleWorkUnit::read(std::int64_t which) {
  std::int64_t bad = kNoIndex;
  for (std::size_t d = 0; d < inputs_.size(); ++d) {
    const detail::ListsOf& input = call_.inputs[d];
    bad = cpu::first_index(bad, cpu::read_block(input.lists, which, input.content, inputs_[d]));
  }
  if (bad != kNoIndex) {
    for (cpu::ListBlock& input : inputs_) input.count = bad - which * cpu::kBlockLists;
  }
  call_.is_cartesian ? count_products() : count_combinations();
  return bad;
}

void TupleWorkUnit::count_combinations() {
  const cpu::ListBlock& lists = inputs_.front();
  constexpr std::int64_t kSquareFits = std::int64_t{1} << 31;
  if (call_.n == 2 && lists.most < kSquareFits) {
    cpu::combination_kernels(isa_).pairs(lists.lengths, lists.count, call_.replacement, tuples_.data());
    return;
  }
  for (std::int64_t i = 0; i < lists.count; ++i) {
    tuples_[static_cast<std::size_t>(i)] = combinations_of(lists.lengths[i], call_.n, call_.replacement);
  }
}

void TupleWorkUnit::count_products() {
  for (std::int64_t i = 0; i < count(); ++i) {
    std::int64_t product = 1;
    bool fits = true;
    bool is_empty = false;
    for (const cpu::ListBlock& input : inputs_) {
      is_empty |= input.lengths[i] == 0;
      fits = fits && !__builtin_mul_overflow(product, input.lengths[i], &product);
    }
    tuples_[static_cast<std::size_t>(i)] = is_empty ? 0 : fits ? product : kNoIndex;
  }
}

namespace {

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_merge_path : &cpu_shares, call, policy);
}

/// The number of tuples of the first `lists` lists of a work unit after `before` others, or the list that overflows.
struct Count {
  std::int64_t total = 0;
  std::int64_t overflow = kNoIndex;  ///< the list whose tuples exceed int64
};
Count count_of(const TupleWorkUnit& work_unit, std::int64_t lists, std::int64_t before) {
  std::int64_t total = before;
  for (std::int64_t i = 0; i < lists; ++i) {
    if (work_unit.tuples(i) == kNoIndex || __builtin_add_overflow(total, work_unit.tuples(i), &total))
      return {total, i};
  }
  return {total};
}

[[noreturn]] void throw_overflow(std::int64_t list) {
  throw Error(Code::overflow, "list " + std::to_string(list) + ": the total number of tuples exceeds int64", list);
}

[[noreturn]] void throw_bad_list(const Call& call, std::int64_t list) {
  for (const detail::ListsOf& input : call.inputs) {
    const Mask& valid = input.lists.valid;
    if (valid.is_given() && !valid[list]) continue;
    if (check_list(input.lists, list, input.content) != Code::ok) {
      upsweep::throw_bad_list(input.lists, list, input.content);
    }
  }
  throw_changed("list " + std::to_string(list));
}

/// Minimum number of work units of lists that a worker checks.
constexpr std::int64_t kLeastWorkUnits = cpu::tuning::kCombinations.least_work_units;

constexpr std::int64_t kOverflow = -1;  ///< replaces the number of tuples of a work unit

/// Writes the number of tuples of work unit i to tuples[i + 1], up to the work unit with the first bad list. Returns
/// that list. Throws std::bad_alloc.
std::int64_t count_work_units(const Call& call, const Policy& policy, std::vector<std::int64_t>& tuples) {
  cpu::LowestIndex first_bad;
  std::atomic<bool> no_memory{false};
  cpu::for_each_work_unit(work_unit_count(call), kLeastWorkUnits, policy.threads, [&](cpu::WorkUnit share) noexcept {
    try {
      TupleWorkUnit work_unit(call, policy.isa);
      for (std::int64_t which = share.first; which < share.last; ++which) {
        const std::int64_t bad = work_unit.read(which);
        if (bad != kNoIndex) return first_bad.add(bad);
        const Count count = count_of(work_unit, work_unit.count(), 0);
        tuples[static_cast<std::size_t>(which) + 1] = count.overflow == kNoIndex ? count.total : kOverflow;
      }
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  });
  if (no_memory) throw std::bad_alloc();
  return first_bad.get();
}

/// Checks the lists and counts their tuples. Throws the Error of the first bad list, or std::bad_alloc.
TuplesPlan make_plan(const Call& call, const Policy& policy) {
  TuplesPlan plan{std::vector<std::int64_t>(static_cast<std::size_t>(work_unit_count(call)) + 1)};
  auto& tuples = plan.first_tuple;
  const std::int64_t bad = count_work_units(call, policy, tuples);
  for (std::size_t i = 1; i < tuples.size(); ++i) {
    const auto which = static_cast<std::int64_t>(i) - 1;
    const bool has_bad = bad != kNoIndex && bad / cpu::kBlockLists == which;
    if (!has_bad && tuples[i] != kOverflow && !__builtin_add_overflow(tuples[i], tuples[i - 1], &tuples[i])) continue;
    TupleWorkUnit work_unit(call, policy.isa);
    (void)work_unit.read(which);
    const std::int64_t overflow = count_of(work_unit, work_unit.count(), tuples[i - 1]).overflow;
    if (overflow == kNoIndex) throw_bad_list(call, bad);
    throw_overflow(which * cpu::kBlockLists + overflow);
  }
  return plan;
}

void require_arrays(const Call& call, detail::ArraysAre arrays = detail::ArraysAre::there) {
  if (call.inputs.empty() || call.n < 1) {
    throw Error(Code::invalid_argument, call.is_cartesian ? "a cartesian product needs at least one input"
                                                          : "combinations need at least 1 element per tuple");
  }
  for (const detail::ListsOf& input : call.inputs) {
    if (input.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
    detail::require_lists(input.lists, input.content, arrays);
    if (input.lists.count == list_count(call)) continue;
    throw Error(Code::unequal_lengths, "the inputs of a cartesian product have " + std::to_string(list_count(call)) +
                                           " and " + std::to_string(input.lists.count) + " lists: they must be equal");
  }
}

[[noreturn]] void throw_no_capacity(const Call& call) {
  throw_too_small("an array of positions", call.capacity, call.total);
}

void require_out(const Call& call) {
  for (std::int64_t d = 0; d < call.n; ++d) detail::require_array(call.out[d], call.capacity, "an array of positions");
}

/// Throws if an output overlaps an input or another output. Only the first `tuples` elements of an output are written;
/// its remaining capacity need not be backed by memory.
void require_apart(const Call& call, std::int64_t tuples) {
  CallArrays arrays;
  for (const detail::ListsOf& input : call.inputs) arrays.read(input.lists);
  if (call.offsets != nullptr) arrays.write(call.offsets, list_count(call) + 1, sizeof(std::int64_t));
  for (std::int64_t d = 0; call.out != nullptr && d < call.n; ++d) {
    arrays.write(call.out[d], tuples, sizeof(std::int64_t));
  }
  arrays.require_apart();
}

// ---- On a GPU.

/// Throws for an array of the call that is not in the device's memory.
void require_device_arrays(const Call& call, int device) {
  for (const detail::ListsOf& input : call.inputs) gpu::require_device_lists(input.lists, device);
  if (call.offsets != nullptr) gpu::require_device_memory(call.offsets, device, "offsets");
  if (call.out == nullptr) return;
  for (std::int64_t d = 0; d < call.n; ++d) {
    gpu::require_device_array(call.out[d], call.capacity, device, "an array of positions");
  }
}

/// Throws the error of a list on the device that is bad in one of the inputs.
[[noreturn]] void throw_bad_on_device(const Call& call, std::int64_t list) {
  gpu::Stream stream = call.launch->stream;
  for (const detail::ListsOf& input : call.inputs) {
    const Lists& lists = input.lists;
    if (lists.has_size) continue;
    if (lists.valid.is_given()) {
      const std::int64_t bit = lists.valid.first_bit + list;
      std::uint8_t byte = 0;
      gpu::fetch(&byte, lists.valid.data + (lists.valid.is_bitmap ? bit / 8 : list), 1, stream);
      const bool is_valid = lists.valid.is_bitmap ? ((byte >> (bit % 8)) & 1) != 0 : byte != 0;
      if (!is_valid) continue;
    }
    const gpu::FetchedList bounds(lists, list, stream);
    const Code code = check_list(bounds.start, bounds.stop, input.content);
    if (code != Code::ok) upsweep::throw_bad_list(code, list, bounds.start, bounds.stop, input.content);
  }
  throw_changed("list " + std::to_string(list));
}

/// Waits for the call, sets the total, and throws the call's error, if any.
void await(Call& call) {
  gpu::CombinationsStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
  call.total = status.total;
  if (status.code == Code::ok) return;
  if (status.code == Code::overflow) throw_overflow(status.first_bad);
  if (status.first_bad == kNoIndex) throw_no_capacity(call);
  throw_bad_on_device(call, status.first_bad);
}

}  // namespace
}  // namespace impl::combinations

std::string_view detail::run_combinations(const Policy& policy, CombinationsCall& call) try {
  require_policy(policy);
  impl::combinations::require_arrays(call);
  const auto& rung = impl::combinations::choose(call, policy);
  const impl::combinations::TuplesPlan plan =
      impl::combinations::make_plan(call, rung.info.threads == Threads::one ? policy.with_threads(1) : policy);
  call.plan = &plan;
  call.total = plan.first_tuple.back();
  if (call.out != nullptr) {
    if (call.capacity < call.total) impl::combinations::throw_no_capacity(call);
    impl::combinations::require_out(call);
  }
  impl::combinations::require_apart(call, call.total);
  const Status status = rung.run(call, policy);
  call.plan = nullptr;
  if (!status.ok()) throw_status(status, rung.info.id);
  return rung.info.id;
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "no memory left to count the tuples");
}

std::string_view detail::run_combinations(const gpu::Policy& policy, CombinationsCall& call) {
  impl::combinations::require_arrays(call);
  impl::combinations::require_apart(call, call.capacity);
  if (call.out != nullptr) impl::combinations::require_out(call);
  return gpu::run_on_device(
      policy, call, &impl::combinations::choose, "combinations_async or cartesian_async",
      [&] { impl::combinations::require_device_arrays(call, policy.device); },
      [&] { impl::combinations::await(call); });
}

gpu::WorkspaceSize detail::combinations_workspace(const gpu::Policy& policy, const CombinationsCall& asked) {
  CombinationsCall call = asked;
  impl::combinations::require_arrays(call, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, call, &impl::combinations::choose);
}

void detail::require_tuple_offsets(std::int64_t offsets, std::int64_t lists) {
  if (offsets == lists + 1) return;
  throw Error(Code::unequal_lengths, "the offsets of the tuples of " + std::to_string(lists) + " lists take " +
                                         std::to_string(lists + 1) + " elements, not " + std::to_string(offsets));
}

}  // namespace upsweep
