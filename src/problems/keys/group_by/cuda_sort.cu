// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_sort.cu: sorts the rows by their keys; runs of equal keys are lists, folded as lists are.
//
// Idea   A stable radix sort of keys and rows makes the rows of a group adjacent, in their order. Values are gathered
//        in the same order, and runs of equal keys become lists. The top rungs of lists fold them, for any lengths. The
//        first row of each run sets a bit, and the number of set bits before this bit is the place of the group.
// Cost   A radix sort of n keys with rows: 4 or 8 passes over both; values read at random. Work n, depth that of the
//        lists.
// Needs  Any GPU. Memory for keys, rows and values in order, and the sort's memory.
// Limit  The passes of the sort: their number is the same if groups are few. For few groups cuda.shared needs no pass,
//        and cuda.hash moves no rows. But the float sums of these two rungs have other bits on each run.
// From   CUB's radix sort; src/problems/lists/segmented_reduce, which names the sources of its folds.
#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/keys/group_by/device_lists.cuh"
#include "problems/keys/group_by/device_sort.cuh"
#include "upsweep/detail/by_key_call.hpp"
#endif

namespace upsweep::impl::group_by {

#if UPSWEEP_HAS_CUDA
namespace {

template <class Row>
__global__ void note_firsts(const Row* rows, const std::int64_t* offsets, std::int64_t groups, RowBits bits) {
  const std::int64_t r = own_index();
  if (r < groups) bits.set(static_cast<std::int64_t>(rows[offsets[r]]));
}

/// The places of the runs' groups, and arrays for their keys, counts and bounds at these places.
template <class Key, class Row>
struct Placed {
  const Key* keys;
  const Row* rows;
  const std::int64_t* offsets;
  RowBits bits;
  Key* out_keys;
  std::int64_t* out_counts;  ///< null if not requested
  std::int64_t* starts;
  std::int64_t* stops;
};
template <class Key, class Row>
__global__ void place_groups(Placed<Key, Row> placed, std::int64_t groups) {
  const std::int64_t r = own_index();
  if (r >= groups) return;
  const std::int64_t begin = placed.offsets[r];
  const std::int64_t end = placed.offsets[r + 1];
  const std::int64_t at = placed.bits.place_of(static_cast<std::int64_t>(placed.rows[begin]));
  placed.out_keys[at] = placed.keys[begin];
  if (placed.out_counts != nullptr) placed.out_counts[at] = end - begin;
  placed.starts[at] = begin;
  placed.stops[at] = end;
}

/// out[the place of run r] ← folds[r].
template <class Word, class Row>
__global__ void place_folds(const Word* folds, const Row* rows, const std::int64_t* offsets, std::int64_t groups,
                            RowBits bits, Word* out) {
  const std::int64_t r = own_index();
  if (r < groups) out[bits.place_of(static_cast<std::int64_t>(rows[offsets[r]]))] = folds[r];
}

constexpr const char* kPlacing = "putting groups in order";

/// One call. All arrays except the first rows are in the order of the keys.
template <class Key, class Row>
class BySort {
 public:
  explicit BySort(Call& call)
      : call_(call), policy_(call.device_policy->with_rung({})), sorted_(policy_, call), order_(policy_, call.n) {}

  Status run() {
    const detail::Keys keys{sorted_.keys(), call_.n, sizeof(Key) == 4 ? Type::uint32 : Type::uint64};
    const gpu::Policy wrap = policy_.with_overflow(Overflow::wrap);
    call_.groups = detail::count_key_runs(wrap, keys);
    if (call_.groups > capacity_of(call_)) return {Code::unequal_lengths};
    if (call_.groups == 0) return {};
    const DeviceParts memory(policy_, [&](gpu::ScratchParts& parts) { take(parts); });
    (void)detail::write_key_offsets(wrap, keys, offsets_, call_.groups + 1);
    const auto grid = grid_of(call_.groups, policy_.stream);
    gpu::require(gpu::detail::launch(grid, note_firsts<Row>, sorted_.rows(), offsets_, call_.groups, order_.bits()),
                 kPlacing);
    (void)order_.count();
    const Placed<Key, Row> placed{
        sorted_.keys(),   sorted_.rows(), offsets_, order_.bits(), static_cast<Key*>(call_.out_keys),
        call_.out_counts, starts_,        stops_};
    gpu::require(gpu::detail::launch(grid, place_groups<Key, Row>, placed, call_.groups), kPlacing);
    sorted_.take(call_.in, size_of(call_.in_type), values_);
    return call_.checked ? fold_checked() : fold();
  }

 private:
  void take(gpu::ScratchParts& parts) {
    offsets_ = parts.take<std::int64_t>(call_.groups + 1);
    starts_ = parts.take<std::int64_t>(call_.groups);
    stops_ = parts.take<std::int64_t>(call_.groups);
    values_ = parts.take<std::byte>(call_.n * size_of(call_.in_type));
    folds_ = parts.take<std::byte>(call_.groups * size_of(call_.out_type));
  }

  void fold_into(void* out, const Lists& lists) const {
    fold_lists(policy_, call_.op, {values_, call_.in_type, call_.n, out, call_.out_type}, lists);
  }

  /// Folds in the order of the keys, because the fastest rung of lists takes offsets.
  Status fold() {
    fold_into(folds_, Lists::by_offsets(offsets_, call_.groups));
    const int size = size_of(call_.out_type);
    if (size == 1) place<std::uint8_t>();
    if (size == 2) place<std::uint16_t>();
    if (size == 4) place<std::uint32_t>();
    if (size == 8) place<std::uint64_t>();
    gpu::require(cudaStreamSynchronize(policy_.stream), kPlacing);
    return {};
  }
  template <class Word>
  void place() {
    gpu::require(gpu::detail::launch(grid_of(call_.groups, policy_.stream), place_folds<Word, Row>,
                                     reinterpret_cast<const Word*>(folds_), sorted_.rows(), offsets_, call_.groups,
                                     order_.bits(), static_cast<Word*>(call_.out)),
                 kPlacing);
  }

  /// Folds in the order of the first rows, so that the first list whose sum does not fit is the first group.
  Status fold_checked() try {
    fold_into(call_.out, Lists::by_bounds<std::int64_t>(starts_, stops_, call_.groups));
    return {};
  } catch (const Error& error) {
    if (error.code() != Code::overflow || error.index() == kNoIndex) throw;
    std::int64_t start = 0;
    Row row = 0;
    gpu::fetch(&start, starts_ + error.index(), sizeof start, policy_.stream);
    gpu::fetch(&row, sorted_.rows() + start, sizeof row, policy_.stream);
    call_.bad_row = static_cast<std::int64_t>(row);
    return {Code::overflow, error.index()};
  }

  Call& call_;
  gpu::Policy policy_;
  SortedRows<Key, Row> sorted_;
  DeviceOrder order_;
  std::int64_t* offsets_ = nullptr;
  std::int64_t* starts_ = nullptr;
  std::int64_t* stops_ = nullptr;
  std::byte* values_ = nullptr;
  std::byte* folds_ = nullptr;
};

Status launch(Call& call, const Policy&) noexcept {
  return guarded(call, [&] {
    return visit_device_key(call.key_type, [&]<class Key>(std::type_identity<Key>) {
      return visit_row(call, [&]<class Row>(std::type_identity<Row>) { return BySort<Key, Row>(call).run(); });
    });
  });
}

}  // namespace
#endif

extern const Rung cuda_sort{.info = {.id = "cuda.sort",
                                     .idea = "radix sort of keys and rows; runs are lists",
                                     .needs = "any GPU",
                                     .traffic = "keys and rows read and written per pass; values in key order",
                                     .cost = "n, depth of the lists",
                                     .limit = "the passes of the sort",
                                     .host_adds = true},
                            .refusal = device_refusal,
                            .run = launch};

}  // namespace upsweep::impl::group_by
