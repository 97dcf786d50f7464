// SPDX-License-Identifier: Apache-2.0
// group/cuda_adaptive.cu: few groups in one reading, by tables in shared memory; others numbered, sorted by their numbers, and
// folded as lists are.
//
// Idea   Sums of few groups are added up by device_few.cuh, whose blocks stop as soon as they see too many keys. Of others a hash
//        table says which group a row belongs to, and groups are numbered in the order of their first rows. Values are sorted by
//        these numbers: two or three passes of 4 bytes where keys have 8 in 8 passes. Groups are then lists that stand as they are
//        to be written, which the top rungs of lists fold, whatever their lengths.
// Cost   Of few groups keys and values read once. Of others keys twice, once by a sketch that says how large the table must be,
//        numbers written and read twice, and numbers and values both ways in each pass. Work n, depth that of the lists.
// Needs  Any GPU. Memory of few groups: next to none; of others numbers twice, values twice, and 26 bytes a group.
// Limit  The passes, where there are more than some thousand groups: integers, which may be added in any order, are done in fewer
//        by atomics (cuda.hash), but for keys that most rows have.
// From   src/segmented, which says where its folds are from; CUB's radix sort.
#include "group/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "group/device_few.cuh"
#include "group/device_numbers.cuh"
#include "upsweep/detail/segmented_call.hpp"
#include "upsweep/lists.hpp"
#endif

namespace upsweep::grouping {

#if UPSWEEP_HAS_CUDA
namespace {

constexpr const char* kWhat = "folding groups";

__global__ void count_rows(const std::int64_t* offsets, std::int64_t groups, std::int64_t* counts) {
  const std::int64_t g = own_index();
  if (g < groups) counts[g] = offsets[g + 1] - offsets[g];
}

__global__ void narrow_sums(const std::int64_t* sums, std::int64_t groups, std::int32_t* out) {
  const std::int64_t g = own_index();
  if (g < groups) out[g] = static_cast<std::int32_t>(sums[g]);
}

/// Content that is sorted by groups, and what becomes of each.
struct Folded {
  const void* in;
  Type in_type;
  void* out;
  Type out_type;
};

/// What a rung does with items once they are numbered.
template <class Key>
class Folding {
 public:
  Folding(Call& call, const Items<Key>& items)
      : call_(call), policy_(call.device_policy->with_rung({})), n_(items.n), items_(policy_, items, call.n) {
    call.groups = items_.groups();
    if (!has_room()) return;
    memory_.emplace(policy_, [&](gpu::ScratchParts& parts) {
      offsets_ = parts.take<std::int64_t>(call.groups + 1);
      firsts_ = parts.take<std::int64_t>(call.groups);
      sorted_ = parts.take<std::uint64_t>(n_);
    });
    items_.write(static_cast<Key*>(call.out_keys), firsts_);
  }

  [[nodiscard]] bool has_room() const { return call_.groups <= room_of(call_); }

  /// Of the values themselves.
  Status fold_rows() try {
    sort(call_.in, size_of(call_.in_type));
    fold(policy_, {sorted_, call_.in_type, call_.out, call_.out_type});
    if (call_.out_counts != nullptr) {
      gpu::require(gpu::detail::launch(grid(), count_rows, offsets_, call_.groups, call_.out_counts), kWhat);
    }
    gpu::require(cudaStreamSynchronize(policy_.stream), kWhat);
    return {};
  } catch (const Error& error) {
    if (error.code() != Code::overflow || error.index() == kNoIndex) throw;
    gpu::fetch(&call_.bad_row, firsts_ + error.index(), sizeof call_.bad_row, policy_.stream);
    return {Code::overflow, error.index()};
  }

  /// Of partial sums and counts, which fit.
  template <class Total>
  Status fold_partials(const PackedPartials<Key, Total>& partials) {
    const gpu::Policy wrap = policy_.with_overflow(Overflow::wrap);
    sort(partials.totals, sizeof(Total));
    if (size_of(call_.out_type) == sizeof(Total)) {
      fold(wrap, {sorted_, call_.out_type, call_.out, call_.out_type});
    } else {
      fold(wrap, {sorted_, Type::int64, partials.totals, Type::int64});
      gpu::require(gpu::detail::launch(grid(), narrow_sums, reinterpret_cast<const std::int64_t*>(partials.totals),
                                       call_.groups, static_cast<std::int32_t*>(call_.out)),
                   kWhat);
    }
    if (call_.out_counts != nullptr) {
      items_.sort(partials.rows, sizeof(std::int64_t), sorted_);
      fold(wrap, {sorted_, Type::int64, call_.out_counts, Type::int64});
    }
    gpu::require(cudaStreamSynchronize(policy_.stream), kWhat);
    return {};
  }

 private:
  [[nodiscard]] gpu::detail::Grid grid() const { return grid_of(call_.groups, policy_.stream); }

  void sort(const void* words, int size) {
    items_.sort(words, size, sorted_);
    items_.write_offsets(offsets_);
  }
  void fold(const gpu::Policy& policy, const Folded& folded) const {
    detail::SegmentedCall call;
    call.in = folded.in;
    call.out = folded.out;
    call.n = n_;
    call.in_type = folded.in_type;
    call.out_type = folded.out_type;
    call.in_size = size_of(folded.in_type);
    call.out_size = size_of(folded.out_type);
    call.op = call_.op;
    call.lists = Lists::by_offsets(offsets_, call_.groups);
    visit_type(folded.out_type, [&]<class T>(std::type_identity<T>) {
      const T init = identity<T>(call_.op);
      call.init = &init;
      (void)detail::run_segmented(policy, call);
    });
  }

  Call& call_;
  gpu::Policy policy_;
  std::int64_t n_;
  NumberedItems<Key> items_;
  std::int64_t* offsets_ = nullptr;
  std::int64_t* firsts_ = nullptr;
  std::uint64_t* sorted_ = nullptr;
  std::optional<DeviceParts> memory_;
};

template <class Key>
Status group_many(Call& call) {
  if (call.n == 0) return {};
  Folding<Key> folding(call, {static_cast<const Key*>(call.keys), nullptr, call.n});
  return folding.has_room() ? folding.fold_rows() : Status{Code::unequal_lengths};
}

template <class Key, class In>
Status group_partials(Call& call, FewGroups<Key, In>& few) {
  PackedPartials<Key, FewTotal<In>> partials = {};
  const std::int64_t n = few.count();
  const DeviceParts memory(*call.device_policy, [&](gpu::ScratchParts& parts) {
    partials = {.keys = parts.take<Key>(n),
                .firsts = parts.take<unsigned long long>(n),
                .rows = parts.take<std::int64_t>(n),
                .totals = parts.take<FewTotal<In>>(n),
                .before = nullptr};
  });
  few.pack(partials);
  Folding<Key> folding(call, {partials.keys, partials.firsts, n});
  return folding.has_room() ? folding.fold_partials(partials) : Status{Code::unequal_lengths};
}

template <class Key, class In>
Status group_few_first(Call& call) {
  for (const FewSize& size : kFewSizes) {
    FewGroups<Key, In> few(*call.device_policy, call, call.launch->multiprocessors, size);
    if (few.facts().too_large != 0) break;
    if (few.facts().too_many == 0) return group_partials(call, few);
  }
  return group_many<Key>(call);
}

/// Fewer rows than this are done before tables in shared memory are.
constexpr std::int64_t kLeastRows = 1 << 16;

/// Whether few groups may be summed in one reading: sums that are kept in 64 bits or need no check.
bool may_be_few(const Call& call) {
  if (call.op != Operator::add || call.n < kLeastRows) return false;
  if (is_float(call.in_type) || !call.checked) return true;
  return size_of(call.out_type) == 8 && (size_of(call.in_type) == 8 || call.n < std::int64_t{1} << 31);
}

template <class Key>
Status group_rows(Call& call) {
  if (!may_be_few(call)) return group_many<Key>(call);
  switch (call.in_type) {
    case Type::int32:
      return group_few_first<Key, std::int32_t>(call);
    case Type::uint32:
      return group_few_first<Key, std::uint32_t>(call);
    case Type::int64:
      return group_few_first<Key, std::int64_t>(call);
    case Type::uint64:
      return group_few_first<Key, std::uint64_t>(call);
    case Type::float32:
      return group_few_first<Key, float>(call);
    case Type::float64:
      return group_few_first<Key, double>(call);
    default:
      return group_many<Key>(call);
  }
}

Status launch(Call& call, const Policy&) noexcept {
  return guarded(call, [&] {
    return visit_device_key(call.key_type,
                            [&]<class Key>(std::type_identity<Key>) { return group_rows<Key>(call); });
  });
}

}  // namespace
#endif

extern const Rung cuda_adaptive{.info = {.id = "cuda.adaptive",
                                         .idea = "few groups in one reading; others numbered and sorted by that",
                                         .needs = "any GPU",
                                         .traffic = "of few keys keys and values read; of many numbers and values sorted",
                                         .host_adds = true},
                                .refusal = device_refusal,
                                .run = launch};

}  // namespace upsweep::grouping
