// SPDX-License-Identifier: Apache-2.0
// select/take.cpp: elements by their positions in an array, or in lists: indices are checked as they come, then gathered.
//
// Source  Awkward Array's kernel awkward_ListArray_getitem_jagged_apply, with the order of its checks: of each list in turn
//         the bounds of its indices, the bounds of the list (where it has indices), its indices.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "cpu/blocks.hpp"
#include "cpu/select_kernels.hpp"
#include "select/arrays.hpp"
#include "select/list_pieces.hpp"
#include "select/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

using cpu::Range;
using selection::ListPart;
using selection::ListSize;

/// Indices that are checked at a time, and gathered while they are in the first cache.
constexpr std::int64_t kBatch = 1024;

std::int64_t index_at(const Indices& indices, std::int64_t i) {
  return visit_list_bound(indices.type, [&]<class T>(std::type_identity<T>) {
    return static_cast<std::int64_t>(static_cast<const T*>(indices.data)[i]);
  });
}

/// Columns' elements at `positions`, which are in the content, to element `out` of the output and on.
void gather(std::span<const SelectColumn> columns, const std::int64_t* positions, std::int64_t count,
            std::int64_t out) {
  const auto move = [&]<int kBytes>(const SelectColumn& column) {
    const auto* const from = static_cast<const std::byte*>(column.data);
    auto* const to = static_cast<std::byte*>(column.out) + out * kBytes;
    for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * kBytes, from + positions[k] * kBytes, kBytes);
  };
  for (const SelectColumn& column : columns) {
    switch (column.element_size) {
      case 1:
        move.operator()<1>(column);
        break;
      case 2:
        move.operator()<2>(column);
        break;
      case 4:
        move.operator()<4>(column);
        break;
      case 8:
        move.operator()<8>(column);
        break;
      default:
        move.operator()<16>(column);
    }
  }
}

[[noreturn]] void throw_bad_index(const detail::TakeCall& call, std::int64_t position, std::int64_t elements,
                                  const std::string& where) {
  selection::throw_bad_index(index_at(call.indices, position), position,
                             where + ", which has " + std::to_string(elements) + " elements");
}

bool is_in(std::int64_t index, std::int64_t elements) { return -elements <= index && index < elements; }

/// Whether check_list() finds something, without a branch.
bool is_outside(std::int64_t start, std::int64_t stop, std::int64_t content) {
  return (int{start != stop} & (int{stop < start} | int{start < 0} | int{stop > content})) != 0;
}

int workers_of(const detail::TakeCall& call, int threads) {
  std::int64_t bytes = call.indices.length * size_of(call.indices.type) + 24 * call.index_lists.count;
  for (const SelectColumn& column : call.columns) bytes += 2 * call.indices.length * column.element_size;
  return cpu::block_workers(cpu::parts(bytes, cpu::kBlockBytes), threads);
}

// ------------------------------------------------------------------------------------------------------------ of arrays

void take_of_array(const Policy& policy, detail::TakeCall& call) {
  const cpu::SelectKernels& kernels = cpu::select_kernels(policy.isa);
  const auto kernel = kernels.take[cpu::bound_type(call.indices.type)];
  const std::int64_t bad =
      cpu::for_each_block_on(workers_of(call, policy.threads), call.indices.length, 8 * kBatch, [&](Range block) {
        std::int64_t positions[kBatch + cpu::kTakeSlack];
        for (std::int64_t at = block.first; at < block.first + block.count; at += kBatch) {
          const std::int64_t stop = std::min(at + kBatch, block.first + block.count);
          const cpu::TakeRange all{.first = at, .stop = stop, .start = 0, .count = call.content};
          if (kernel(call.indices.data, call.indices.length, &all, 1, positions)) {
            gather(call.columns, positions, stop - at, at);
            continue;
          }
          while (is_in(index_at(call.indices, at), call.content)) ++at;
          return at;
        }
        return kNoIndex;
      });
  if (bad != kNoIndex) throw_bad_index(call, bad, call.content, "the content");
  call.taken = call.indices.length;
}

// ------------------------------------------------------------------------------------------------------------- of lists

/// Throws the first error, list by list, where there is one. A list that is null is as an empty one.
template <class Bounds, class IndexBounds>
void throw_first_error(const detail::TakeCall& call, const Bounds& lists, const IndexBounds& of_indices) {
  for (std::int64_t i = 0; i < call.index_lists.count; ++i) {
    if (selection::is_null(call.index_lists, i) || of_indices.start(i) == of_indices.stop(i)) continue;
    const std::int64_t first = of_indices.start(i);
    const std::int64_t stop = of_indices.stop(i);
    if (const Code code = check_list(first, stop, call.indices.length); code != Code::ok) {
      selection::throw_bad_index_list(code, i, first, stop, call.indices.length);
    }
    std::int64_t count = 0;
    if (!selection::is_null(call.lists, i)) {
      const Code code = check_list(lists.start(i), lists.stop(i), call.content);
      if (code != Code::ok) throw_bad_list(code, i, lists.start(i), lists.stop(i), call.content);
      count = lists.stop(i) - lists.start(i);
    }
    for (std::int64_t j = first; j < stop; ++j) {
      if (!is_in(index_at(call.indices, j), count)) throw_bad_index(call, j, count, "list " + std::to_string(i));
    }
  }
}

/// A piece's work: ranges of indices become positions some hundred lists at a time, all columns are gathered by them.
template <class Bounds, class IndexBounds>
class TakePart {
 public:
  TakePart(const detail::TakeCall& call, const Bounds& lists, const IndexBounds& of_indices,
           const cpu::SelectKernels& kernels, std::atomic<bool>& failed)
      : call_(call),
        lists_(lists),
        of_indices_(of_indices),
        kernel_(kernels.take[cpu::bound_type(call.indices.type)]),
        failed_(failed) {}

  void operator()(const ListPart& part) {
    if (part.has_begin) call_.out_offsets[part.list] = part.out;
    const bool is_null = selection::is_null(call_.lists, part.list);
    const std::int64_t start = is_null ? 0 : lists_.start(part.list);
    const std::int64_t count = is_null ? 0 : lists_.stop(part.list) - start;
    // A list without indices, whose bounds may be anything, is a range of none: no branch for it.
    const std::int64_t first = of_indices_.start(part.list) & -std::int64_t{part.from < part.to};
    std::int64_t from = part.from;
    do {
      if (ranges_count_ == kRanges || taken_ == kBatch) finish();
      if (ranges_count_ == 0) out_ = part.out + from;
      const std::int64_t to = std::min(part.to, from + kBatch - taken_);
      ranges_[ranges_count_++] = {.first = first + from, .stop = first + to, .start = start, .count = count};
      taken_ += to - from;
      from = to;
    } while (from < part.to);
  }

  void finish() {
    std::int64_t positions[kBatch + cpu::kTakeSlack];
    if (!kernel_(call_.indices.data, call_.indices.length, ranges_, ranges_count_, positions)) {
      failed_.store(true, std::memory_order_relaxed);
    } else {
      if (call_.positions != nullptr) std::copy_n(positions, taken_, call_.positions + out_);
      gather(call_.columns, positions, taken_, out_);
    }
    ranges_count_ = 0;
    taken_ = 0;
  }

 private:
  static constexpr std::int64_t kRanges = 512;

  const detail::TakeCall& call_;
  const Bounds& lists_;
  const IndexBounds& of_indices_;
  bool (*kernel_)(const void*, std::int64_t, const cpu::TakeRange*, std::int64_t, std::int64_t*);
  std::atomic<bool>& failed_;
  cpu::TakeRange ranges_[kRanges];
  std::int64_t ranges_count_ = 0;
  std::int64_t out_ = 0;  // where the first range's output begins
  std::int64_t taken_ = 0;
};

template <class Bounds, class IndexBounds>
void take_of_lists(const Policy& policy, detail::TakeCall& call, const Bounds& lists, const IndexBounds& of_indices) {
  const bool has_nulls = call.lists.valid.is_given();
  const bool has_null_indices = call.index_lists.valid.is_given();
  const auto measure = [=, &call, indices_length = call.indices.length,
                        content = call.content](std::int64_t i) -> ListSize {
    if (has_null_indices && selection::is_null(call.index_lists, i)) return {};
    const std::int64_t first = of_indices.start(i);
    const std::int64_t stop = of_indices.stop(i);
    // No branch but on what is the same for all lists: a third of them may have no indices, anywhere.
    const bool is_null = has_nulls && selection::is_null(call.lists, i);
    const std::int64_t start = is_null ? 0 : lists.start(i);
    const std::int64_t end = is_null ? 0 : lists.stop(i);
    const bool is_bad =
        is_outside(first, stop, indices_length) | (int{first != stop} & int{is_outside(start, end, content)});
    return {stop - first, stop - first, is_bad};
  };
  const selection::ListPieces pieces(call.index_lists.count, workers_of(call, policy.threads), measure);
  if (pieces.first_bad() != kNoIndex) throw_first_error(call, lists, of_indices);
  if (pieces.overflows()) throw Error(Code::overflow, "the lists have more indices than int64 counts");
  call.taken = pieces.writes();
  if (call.taken > call.room) selection::throw_no_room_to_take(call.room, call.taken);
  call.out_offsets[call.index_lists.count] = call.taken;
  std::atomic<bool> failed{false};
  const cpu::SelectKernels& kernels = cpu::select_kernels(policy.isa);
  pieces.for_each(measure, [&] { return TakePart(call, lists, of_indices, kernels, failed); });
  if (failed) throw_first_error(call, lists, of_indices);
}

}  // namespace

// --------------------------------------------------------------------------------------------------------------- calls

void selection::throw_bad_index(std::int64_t index, std::int64_t position, const std::string& where) {
  throw Error(
      Code::index_out_of_range,
      "index " + std::to_string(index) + " at position " + std::to_string(position) + " names no element of " + where,
      position);
}

void selection::throw_bad_index_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop,
                                     std::int64_t indices) {
  try {
    throw_bad_list(code, list, start, stop, indices);
  } catch (const Error& error) {
    throw Error(code, "of the indices, " + std::string(error.what()), list);
  }
}

void selection::throw_no_room_to_take(std::int64_t room, std::int64_t taken) {
  throw Error(Code::unequal_lengths, "an output has room for " + std::to_string(room) + " elements, but " +
                                         std::to_string(taken) + " are taken");
}

void selection::require_take(detail::TakeCall& call) {
  detail::require_array(call.indices.data, call.indices.length, "indices");
  if (!is_list_bound(call.indices.type)) {
    throw Error(Code::unsupported_type,
                "indices are int32, uint32 or int64, not " + std::string(name(call.indices.type)));
  }
  if (!call.has_lists) call.content = call.columns.empty() ? 0 : call.columns[0].length;
  const std::int64_t room = selection::require_columns(call.columns, call.content, "the content");
  call.room = call.positions == nullptr ? room : std::min(room, call.room);
  CallArrays arrays;
  selection::add_columns(call.columns, arrays);
  arrays.read(call.indices.data, call.indices.length, size_of(call.indices.type));
  if (call.has_lists) {
    if (call.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
    detail::require_lists(call.lists, call.content);
    detail::require_lists(call.index_lists, call.indices.length);
    if (call.lists.count != call.index_lists.count) {
      throw Error(Code::unequal_lengths, "there are " + std::to_string(call.lists.count) + " lists, but indices of " +
                                             std::to_string(call.index_lists.count));
    }
    arrays.read(call.lists);
    arrays.read(call.index_lists);
    arrays.write(call.out_offsets, call.index_lists.count + 1, sizeof(std::int64_t));
    arrays.write(call.positions, call.room, sizeof(std::int64_t));
  }
  arrays.require_apart();
  if (!call.has_lists && call.room < call.indices.length) throw_no_room_to_take(call.room, call.indices.length);
}

void detail::run_take(const Policy& policy, TakeCall& call) try {
  require_policy(policy);
  require_no_rung(policy.rung);
  selection::require_take(call);
  if (call.has_lists) {
    return visit_bounds(call.lists, [&](auto lists) {
      visit_bounds(call.index_lists, [&](auto of_indices) { take_of_lists(policy, call, lists, of_indices); });
    });
  }
  if (call.columns.empty()) return;
  take_of_array(policy, call);
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "take: no memory left for its pieces");
}

}  // namespace upsweep
