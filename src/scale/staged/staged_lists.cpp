// SPDX-License-Identifier: Apache-2.0
// scale/staged/staged_lists.cpp: calls on host lists through gpu::Staging. The arrays that a call reads are copied in
// turn.
#include <cstddef>
#include <vector>

#include "core/checked.hpp"
#include "core/lists.hpp"
#include "scale/staged/staged.hpp"
#include "upsweep/error.hpp"

namespace upsweep::dynamic {
namespace {

/// An output array on the device.
struct Buffer {
  int slot;
  void* there;
};

/// The arrays of one call, each in the next slot of the staging.
class Arrays {
 public:
  explicit Arrays(gpu::Staging& staging) : staging_(staging) {}

  const void* send(const void* from, std::int64_t bytes) { return staging_.upload(slot_++, from, bytes); }
  ConstArray send(ConstArray array) {
    array.data = send(array.data, array.length * size_of(array.type));
    return array;
  }
  Mask send(Mask mask) {
    if (!mask.is_given()) return mask;
    const std::int64_t before = mask.is_bitmap ? mask.first_bit / 8 : 0;
    mask.first_bit -= 8 * before;
    mask.data = static_cast<const std::uint8_t*>(send(mask.data + before, mask.bytes()));
    return mask;
  }
  Lists send(Lists lists) {
    lists.valid = send(lists.valid);
    if (lists.has_size) return lists;
    const std::int64_t size = size_of(lists.type);
    if (lists.count == 0) {  // the single offset may not even exist
      constexpr std::int64_t kOffsets[2] = {};
      lists.starts = send(kOffsets, sizeof kOffsets);
      lists.stops = static_cast<const std::byte*>(lists.starts) + size;
    } else if (lists.are_adjacent()) {
      lists.starts = send(lists.starts, (lists.count + 1) * size);
      lists.stops = static_cast<const std::byte*>(lists.starts) + size;
    } else {
      lists.starts = send(lists.starts, lists.count * size);
      lists.stops = send(lists.stops, lists.count * size);
    }
    return lists;
  }
  Buffer buffer(std::int64_t bytes) {
    const int slot = slot_++;
    return {slot, staging_.array(slot, bytes)};
  }
  void fetch(void* to, Buffer buffer, std::int64_t bytes) {
    if (bytes > 0) staging_.download(to, buffer.slot, bytes);
  }

 private:
  gpu::Staging& staging_;
  int slot_ = 0;
};

/// Columns of content, each with a buffer for the elements that are moved.
class Columns {
 public:
  Columns(Arrays& arrays, std::span<const ContentColumn> here) : arrays_(arrays), here_(here) {
    for (const ContentColumn& column : here) {
      ContentColumn& there = there_.emplace_back(column);
      there.data = arrays.send(column.data, column.length * column.element_size);
      there.out = buffers_.emplace_back(arrays.buffer(column.capacity * column.element_size)).there;
    }
  }
  [[nodiscard]] std::span<const ContentColumn> all() const { return there_; }
  /// Copies the first elements of every output to the host.
  void fetch(std::int64_t elements) {
    for (std::size_t i = 0; i < here_.size(); ++i) {
      arrays_.fetch(here_[i].out, buffers_[i], elements * here_[i].element_size);
    }
  }

 private:
  Arrays& arrays_;
  std::span<const ContentColumn> here_;
  std::vector<ContentColumn> there_;
  std::vector<Buffer> buffers_;
};

std::int64_t bytes_of(const Array& array) { return array.length * size_of(array.type); }

/// Decreasing offsets are allowed where a list is null, but then other lists overlap. A device would write their
/// outputs concurrently.
void require_in_order(const Lists& lists, std::int64_t content) {
  if (!lists.valid.is_given() || lists.has_size) return;
  visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (bounds.stop(i) >= bounds.start(i)) continue;
      throw_bad_list(Code::stop_before_start, i, bounds.start(i), bounds.stop(i), content);
    }
  });
}

Carry carry_of(Type type, const void* init) { return init != nullptr ? Carry::of(type, init) : Carry(type); }

bool checks(Overflow overflow, Operator op, ConstArray content) {
  return overflow == Overflow::checked && op == Operator::add && content.length > 0;
}

/// Calls run(policy, lists, content, out), with all arguments on the device, for an output as long as the content.
/// Elements that no list writes are copied from `before`, on the device, or set to zero.
template <class State, class Run>
std::string_view run_parallel(State& state, Arrays& arrays, const Lists& lists, ConstArray content, Array out,
                              const void* before, Run run_it) {
  require_in_order(lists, content.length);
  const Lists lists_there = arrays.send(lists);
  const Buffer buffer = arrays.buffer(bytes_of(out));
  const std::string_view ran = state.run_alone([&](const gpu::Policy& policy) {
    if (out.length > 0 && before != nullptr) state.staging.copy(buffer.there, before, bytes_of(out));
    if (out.length > 0 && before == nullptr) state.staging.fill(buffer.there, 0, bytes_of(out));
    return run_it(policy, lists_there, Array{buffer.there, out.length, out.type});
  });
  arrays.fetch(out.data, buffer, bytes_of(out));
  return ran;
}

/// Calls run(policy, lists, out) for an output with one element per list.
template <class State, class Run>
std::string_view run_per_list(State& state, Arrays& arrays, const Lists& lists, Array out, Run run_it) {
  const Lists lists_there = arrays.send(lists);
  const Buffer buffer = arrays.buffer(bytes_of(out));
  const std::string_view ran = state.run_alone([&](const gpu::Policy& policy) {
    return run_it(policy, lists_there, Array{buffer.there, out.length, out.type});
  });
  arrays.fetch(out.data, buffer, bytes_of(out));
  return ran;
}

/// `lists`: null if there are no lists.
template <class State>
Selected run_select(State& state, const Lists* lists, const Mask& mask, std::int64_t* out_offsets,
                    std::span<const SelectColumn> columns) {
  Arrays arrays(state.staging);
  const Lists lists_there = lists != nullptr ? arrays.send(*lists) : Lists{};
  const Mask mask_there = arrays.send(mask);
  const std::int64_t offsets_bytes = lists != nullptr ? (lists->count + 1) * std::int64_t{sizeof(std::int64_t)} : 0;
  const Buffer offsets = arrays.buffer(offsets_bytes);
  Columns columns_there(arrays, columns);
  Selected selected{};
  selected.rung = state.run_alone([&](const gpu::Policy& policy) {
    selected = lists != nullptr ? upsweep::select(policy, lists_there, mask_there,
                                                  static_cast<std::int64_t*>(offsets.there), columns_there.all())
                                : upsweep::select(policy, mask_there, columns_there.all());
    return selected.rung;
  });
  if (lists != nullptr) arrays.fetch(out_offsets, offsets, offsets_bytes);
  columns_there.fetch(selected.kept);
  return selected;
}

}  // namespace

std::string_view Staged::segmented_reduce(Overflow overflow, Operator op, const Lists& lists, ConstArray content,
                                          Array out, const void* init, const Mask& valid) {
  require_checks(op, out.type, overflow);
  Arrays arrays(state_->staging);
  const ConstArray content_there = arrays.send(content);
  const Mask valid_there = arrays.send(valid);
  // Exact sums take longer than sums that need no check.
  const bool may_not_fit = checks(overflow, op, content) && !state_->sums_fit(content_there, carry_of(out.type, init));
  const Overflow needed = may_not_fit ? Overflow::checked : Overflow::wrap;
  return run_per_list(*state_, arrays, lists, out,
                      [&](const gpu::Policy& policy, const Lists& lists_there, Array out_there) {
                        return dynamic::segmented_reduce(policy.with_overflow(needed), op, lists_there, content_there,
                                                         out_there, init, valid_there);
                      });
}

std::string_view Staged::segmented_reduce(Reducer reducer, const Lists& lists, ConstArray content, Array out,
                                          const Mask& valid) {
  Arrays arrays(state_->staging);
  const ConstArray content_there = arrays.send(content);
  const Mask valid_there = arrays.send(valid);
  return run_per_list(
      *state_, arrays, lists, out, [&](const gpu::Policy& policy, const Lists& lists_there, Array out_there) {
        return dynamic::segmented_reduce(policy, reducer, lists_there, content_there, out_there, valid_there);
      });
}

std::string_view Staged::segmented_scan(Overflow overflow, const ScanOptions& options, const Lists& lists,
                                        ConstArray content, Array out, const void* init, const Mask& valid) {
  require_checks(options.op, out.type, overflow);
  Arrays arrays(state_->staging);
  const ConstArray content_there = arrays.send(content);
  const Mask valid_there = arrays.send(valid);
  if (checks(overflow, options.op, content)) state_->require_fit(content_there, carry_of(out.type, init));
  return run_parallel(*state_, arrays, lists, content, out, nullptr,
                      [&](const gpu::Policy& policy, const Lists& lists_there, Array out_there) {
                        return dynamic::segmented_scan(policy, options, lists_there, content_there, out_there, init,
                                                       valid_there);
                      });
}

std::string_view Staged::segmented_sort(const Lists& lists, ConstArray content, Array out, const SortOptions& options) {
  Arrays arrays(state_->staging);
  const ConstArray content_there = arrays.send(content);
  const bool is_parallel = out.length == content.length;  // a mismatch is refused later
  return run_parallel(*state_, arrays, lists, content, out, is_parallel ? content_there.data : nullptr,
                      [&](const gpu::Policy& policy, const Lists& lists_there, Array out_there) {
                        return dynamic::segmented_sort(policy, lists_there, content_there, out_there, options);
                      });
}

std::string_view Staged::segmented_argsort(const Lists& lists, ConstArray content, Array out,
                                           const SortOptions& options) {
  Arrays arrays(state_->staging);
  const ConstArray content_there = arrays.send(content);
  return run_parallel(*state_, arrays, lists, content, out, nullptr,
                      [&](const gpu::Policy& policy, const Lists& lists_there, Array out_there) {
                        return dynamic::segmented_argsort(policy, lists_there, content_there, out_there, options);
                      });
}

Selected Staged::select(const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                        std::span<const SelectColumn> columns) {
  return run_select(*state_, &lists, mask, out_offsets, columns);
}

Selected Staged::select(const Mask& mask, std::span<const SelectColumn> columns) {
  return run_select(*state_, nullptr, mask, nullptr, columns);
}

PackResult Staged::pack_offsets(const Lists& lists, std::int64_t content, std::int64_t* offsets) {
  Arrays arrays(state_->staging);
  const Lists lists_there = arrays.send(lists);
  const std::int64_t bytes = (lists.count + 1) * std::int64_t{sizeof(std::int64_t)};
  const Buffer buffer = arrays.buffer(bytes);
  PackResult result{};
  result.rung = state_->run_alone([&](const gpu::Policy& policy) {
    result = upsweep::pack_offsets(policy, lists_there, content, static_cast<std::int64_t*>(buffer.there));
    return result.rung;
  });
  arrays.fetch(offsets, buffer, bytes);
  return result;
}

PackResult Staged::pack_content(const Lists& lists, const std::int64_t* offsets, std::span<const PackColumn> columns) {
  Arrays arrays(state_->staging);
  const Lists lists_there = arrays.send(lists);
  const void* const offsets_there = arrays.send(offsets, (lists.count + 1) * std::int64_t{sizeof(std::int64_t)});
  Columns columns_there(arrays, columns);
  PackResult result{};
  result.rung = state_->run_alone([&](const gpu::Policy& policy) {
    result = upsweep::pack_content(policy, lists_there, static_cast<const std::int64_t*>(offsets_there),
                                   columns_there.all());
    return result.rung;
  });
  columns_there.fetch(result.total);
  return result;
}

}  // namespace upsweep::dynamic
