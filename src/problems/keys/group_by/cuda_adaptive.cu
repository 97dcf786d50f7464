// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_adaptive.cu: sums few groups in one pass, by tables in shared memory. Many groups are
// numbered, and then summed by partitions, or sorted by their numbers and folded as lists.
//
// Idea   Sums of few groups are added up by device_few.cuh, whose blocks stop as soon as they see too many keys. For
//        more groups, a hash table gives the group of each row, and groups are numbered in the order of their first
//        rows. Rows are sorted by the first bits of these numbers, in one pass or two, until a partition's groups fit
//        shared memory (device_partitions.cuh). Operators other than sums sort by all bits. Then groups are lists that
//        already have the order of the output, and the top rungs of lists fold them.
// Cost   For few groups keys and values are read once. For more groups, keys are read twice more: by a sketch that
//        determines the size of the table, and to fill the table. Numbers are written and read twice, and each pass
//        reads and writes numbers and values. Work n, depth n divided by the threads.
// Needs  Any GPU. For sums of few groups, up to 1,280 per block, 3/8 of a byte per row, for the order of first rows.
//        Memory of other calls grows with the rows, because the sort moves all rows. Per row it is 8 bytes for numbers,
//        3/8 of a byte, two copies of the value, and 4 bytes for the sort. It is also 26 bytes per group. Batches of
//        rows would need less memory. But each row would be looked up twice, and sums would have other bits for each
//        batch size. A call that needs more than the free memory ends before it writes any output.
// Limit  Finding and numbering rows in a table that fits no cache, if there are millions of groups.
// From   src/problems/lists/segmented_reduce, which names the sources of its folds; CUB's radix sort.
#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/memory_pool.hpp"
#include "problems/keys/group_by/device_few.cuh"
#include "problems/keys/group_by/device_lists.cuh"
#include "problems/keys/group_by/device_numbers.cuh"
#include "problems/keys/group_by/device_partitions.cuh"
#include "problems/keys/group_by/device_sketch.cuh"
#include "upsweep/detail/tuning/keys.hpp"
#include "upsweep/machine.hpp"
#endif

namespace upsweep::impl::group_by {

extern const Rung cuda_sort;

#if UPSWEEP_HAS_CUDA
namespace {

constexpr const char* kWhat = "folding groups";
/// Calls with fewer rows do not use tables in shared memory, because they end sooner without.
constexpr std::int64_t kLeastRows = gpu::tuning::kGroups.least_rows;
/// Calls with fewer rows do not check how much memory is free.
constexpr std::int64_t kLeastAsked = gpu::tuning::kGroups.least_asked;
/// If there are more groups, rows are sorted by their keys.
constexpr std::int64_t kMostNumbered = gpu::tuning::kGroups.most_numbered;

__global__ void count_rows(const std::int64_t* offsets, std::int64_t groups, std::int64_t* counts) {
  const std::int64_t g = own_index();
  if (g < groups) counts[g] = offsets[g + 1] - offsets[g];
}

__global__ void narrow_sums(const std::int64_t* sums, std::int64_t groups, std::int32_t* out) {
  const std::int64_t g = own_index();
  if (g < groups) out[g] = static_cast<std::int32_t>(sums[g]);
}

/// Numbers items and folds them by their numbers.
template <class Key>
class Folding {
 public:
  Folding(Call& call, const Items<Key>& items, std::int64_t expected)
      : call_(call), policy_(call.device_policy->with_rung({})), n_(items.n), items_(policy_, items, expected, call.n) {
    call.groups = items_.groups();
    if (!has_capacity()) return;
    if (call.checked) {
      firsts_memory_.emplace(policy_,
                             [&](gpu::ScratchParts& parts) { firsts_ = parts.take<std::int64_t>(call.groups); });
    }
    items_.write(static_cast<Key*>(call.out_keys), firsts_);
  }

  [[nodiscard]] bool has_capacity() const { return call_.groups <= capacity_of(call_); }
  [[nodiscard]] const NumberedItems<Key>& items() const { return items_; }

  /// Folds the values themselves, as lists.
  Status fold_rows() try {
    const Sorted sorted(*this);
    items_.sort(call_.in, size_of(call_.in_type), sorted.words);
    write_offsets(policy_, items_.sorted(), n_, 0, sorted.offsets);
    fold(policy_, sorted, call_.in_type, call_.out, call_.out_type);
    if (call_.out_counts != nullptr) {
      gpu::require(gpu::detail::launch(grid(), count_rows, sorted.offsets, call_.groups, call_.out_counts), kWhat);
    }
    gpu::require(cudaStreamSynchronize(policy_.stream), kWhat);
    return {};
  } catch (const Error& error) {
    if (error.code() != Code::overflow || error.index() == kNoIndex) throw;
    gpu::fetch(&call_.bad_row, firsts_ + error.index(), sizeof call_.bad_row, policy_.stream);
    return {Code::overflow, error.index()};
  }

  /// Folds partial sums and counts, which are known to fit.
  template <class Total>
  Status fold_partials(const PackedPartials<Key, Total>& partials) {
    const gpu::Policy wrap = policy_.with_overflow(Overflow::wrap);
    const Sorted sorted(*this);
    items_.sort(partials.totals, sizeof(Total), sorted.words);
    write_offsets(policy_, items_.sorted(), n_, 0, sorted.offsets);
    if (size_of(call_.out_type) == sizeof(Total)) {
      fold(wrap, sorted, call_.out_type, call_.out, call_.out_type);
    } else {
      fold(wrap, sorted, Type::int64, partials.totals, Type::int64);
      gpu::require(gpu::detail::launch(grid(), narrow_sums, reinterpret_cast<const std::int64_t*>(partials.totals),
                                       call_.groups, static_cast<std::int32_t*>(call_.out)),
                   kWhat);
    }
    if (call_.out_counts != nullptr) {
      items_.sort(partials.rows, sizeof(std::int64_t), sorted.words);
      fold(wrap, sorted, Type::int64, call_.out_counts, Type::int64);
    }
    gpu::require(cudaStreamSynchronize(policy_.stream), kWhat);
    return {};
  }

 private:
  /// Words of the items, sorted by group, and where each group begins.
  struct Sorted {
    explicit Sorted(const Folding& of)
        : memory(of.policy_, [&](gpu::ScratchParts& parts) {
            offsets = parts.take<std::int64_t>(of.call_.groups + 1);
            words = parts.take<std::uint64_t>(of.n_);
          }) {}

    std::int64_t* offsets = nullptr;  // before memory, whose initializer fills them
    std::uint64_t* words = nullptr;
    DeviceParts memory;
  };

  [[nodiscard]] gpu::detail::Grid grid() const { return grid_of(call_.groups, policy_.stream); }

  /// Folds words of one type into `out`, whose type may differ.
  void fold(const gpu::Policy& policy, const Sorted& sorted, Type in_type, void* out, Type out_type) const {
    fold_lists(policy, call_.op, {sorted.words, in_type, n_, out, out_type},
               Lists::by_offsets(sorted.offsets, call_.groups));
  }

  Call& call_;
  gpu::Policy policy_;
  std::int64_t n_;
  NumberedItems<Key> items_;
  std::int64_t* firsts_ = nullptr;  ///< first rows; an error of a checked sum names them
  std::optional<DeviceParts> firsts_memory_;
};

/// Returns how many bytes of device memory a call can use, at most. `device` must be the current device.
inline double free_bytes(int device) {
  constexpr const char* kAsking = "asking how much device memory is free";
  std::size_t free = 0;
  std::size_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  gpu::require(cudaMemGetInfo(&free, &total), kAsking);
  gpu::require(cudaMemPoolGetAttribute(gpu::pool_of(device), cudaMemPoolAttrReservedMemCurrent, &reserved), kAsking);
  gpu::require(cudaMemPoolGetAttribute(gpu::pool_of(device), cudaMemPoolAttrUsedMemCurrent, &used), kAsking);
  return static_cast<double>(free) + static_cast<double>(reserved) - static_cast<double>(used);
}

/// Throws device_memory if the pool has too little memory for numbering and sorting the rows. Checks a lower bound of
/// the allocations. The memory of a caller's memory resource is unknown and is not checked.
void require_memory(const Call& call, std::int64_t groups) {
  if (call.n < kLeastAsked || call.device_policy->memory != nullptr) return;
  const bool is_sorted = groups > 2 << PartitionBits::kMostLocal;  // the groups are an estimate
  const double row_bytes = 8.375 + (is_sorted ? 4 + 2 * size_of(call.in_type) : 0);
  const double bytes = static_cast<double>(call.n) * row_bytes + static_cast<double>(groups) * 26;
  const double free = free_bytes(call.device_policy->device);
  if (bytes <= free) return;
  throw Error(Code::device_memory, "group_by of " + std::to_string(call.n) + " rows and about " +
                                       std::to_string(groups) + " groups needs " + bytes_text(bytes) +
                                       " of device memory, but " + bytes_text(free) +
                                       " are free: group fewer rows at a time, then the results");
}

/// Numbers the rows and calls done(folding). If most rows are separate groups, it sorts rows by their keys, which is
/// faster.
template <class Key, class Done>
Status with_numbers(Call& call, Done done) {
  const auto* const keys = static_cast<const Key*>(call.keys);
  const std::int64_t expected = expected_groups(*call.device_policy, keys, call.n);
  const bool are_most = call.n > kLeastRows && expected > call.n / 2;
  if (are_most || expected > kMostNumbered) return cuda_sort.run(call, {});
  require_memory(call, expected);
  Folding<Key> folding(call, {keys, nullptr, call.n}, expected);
  return folding.has_capacity() ? done(folding) : Status{Code::unequal_lengths};
}

template <class Key>
Status group_any(Call& call) {
  if (call.n == 0) return {};
  return with_numbers<Key>(call, [](Folding<Key>& folding) { return folding.fold_rows(); });
}

template <class Key, class In>
Status sum_many(Call& call) {
  return with_numbers<Key>(call, [&](Folding<Key>& folding) {
    if (sum_by_partitions<Key, In>(*call.device_policy, call, folding.items())) return Status{};
    return folding.fold_rows();
  });
}

template <class Key, class In>
Status sum_partials(Call& call, FewGroups<Key, In>& few) {
  PackedPartials<Key, WarpTotal<In>> partials = {};
  const std::int64_t n = few.count();
  const DeviceParts memory(*call.device_policy, [&](gpu::ScratchParts& parts) {
    partials = {.keys = parts.take<Key>(n),
                .firsts = parts.take<unsigned long long>(n),
                .rows = parts.take<std::int64_t>(n),
                .totals = parts.take<WarpTotal<In>>(n)};
  });
  few.pack(partials);
  Folding<Key> folding(call, {partials.keys, partials.firsts, n}, n);
  return folding.has_capacity() ? folding.fold_partials(partials) : Status{Code::unequal_lengths};
}

template <class Key, class In>
Status sum_rows(Call& call) {
  for (const FewSize& size : kFewSizes) {
    if (!FewGroups<Key, In>::fits(call.launch->device, size)) continue;
    FewGroups<Key, In> few(*call.device_policy, call, size);
    if (few.facts().too_large != 0) return group_any<Key>(call);
    if (few.facts().too_many == 0) return sum_partials(call, few);
  }
  return sum_many<Key, In>(call);
}

/// Returns whether these are sums without a check, or sums in 64 bits that are checked by the sizes of the values.
bool are_plain_sums(const Call& call) {
  if (call.op != Operator::add || call.n < kLeastRows) return false;
  if (is_float(call.in_type) || !call.checked) return true;
  return size_of(call.out_type) == 8 && (size_of(call.in_type) == 8 || call.n < std::int64_t{1} << 31);
}

template <class Key>
Status group_rows(Call& call) {
  if (!are_plain_sums(call)) return group_any<Key>(call);
  switch (call.in_type) {
    case Type::int32:
      return sum_rows<Key, std::int32_t>(call);
    case Type::uint32:
      return sum_rows<Key, std::uint32_t>(call);
    case Type::int64:
      return sum_rows<Key, std::int64_t>(call);
    case Type::uint64:
      return sum_rows<Key, std::uint64_t>(call);
    case Type::float32:
      return sum_rows<Key, float>(call);
    case Type::float64:
      return sum_rows<Key, double>(call);
    default:
      return group_any<Key>(call);
  }
}

Status launch(Call& call, const Policy&) noexcept {
  return guarded(call, [&] {
    return visit_device_key(call.key_type, [&]<class Key>(std::type_identity<Key>) { return group_rows<Key>(call); });
  });
}

}  // namespace
#endif

extern const Rung cuda_adaptive{.info = {.id = "cuda.adaptive",
                                         .idea = "few groups in one pass; others numbered, then partitioned",
                                         .needs = "any GPU",
                                         .traffic = "few keys: keys and values read; many: numbers and values sorted",
                                         .cost = "n, depth of the lists",
                                         .limit = "the passes of the sort, fewer than by keys",
                                         .host_adds = true},
                                .refusal = device_refusal,
                                .run = launch};

}  // namespace upsweep::impl::group_by
