// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_adaptive.cu: few groups in one reading, by tables in shared memory; others numbered and summed by partitions, or sorted by
// their numbers and folded as lists are.
//
// Idea   Sums of few groups are added up by device_few.cuh, whose blocks stop as soon as they see too many keys. Of others a hash
//        table says which group a row belongs to, and groups are numbered in the order of their first rows. Rows are sorted by the
//        first bits of these numbers, in a pass or two, until a partition's groups fit shared memory (device_partitions.cuh). What
//        is no sum is sorted by all bits: groups are then lists that stand as they are to be written, which the top rungs of lists
//        fold.
// Cost   Of few groups keys and values read once. Of others keys twice more, once by a sketch that says how large the table must
//        be, numbers written and read twice, and numbers and values both ways in each pass. Work n, depth n by the threads.
// Needs  Any GPU. Memory of sums of few groups, up to 1,280 that a block sees: 3/8 of a byte a row, for the order of first rows. Of
//        other calls it follows the rows, as the sort moves all of them: 8 bytes of numbers and 3/8, values twice, 4 bytes of the
//        sort's, and 26 bytes a group. Batches of rows would need less, but a look at the table for each row twice, and sums
//        with other bits for each size of a batch. A call with more than is free ends before it writes.
// Limit  Finding and numbering rows in a table that no cache holds, where there are millions of groups.
// From   src/problems/lists/segmented_reduce, which says where its folds are from; CUB's radix sort.
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
/// Fewer rows than this are done before tables in shared memory are.
constexpr std::int64_t kLeastRows = gpu::tuning::kGroups.least_rows;
/// Of fewer rows nobody asks how much memory is free.
constexpr std::int64_t kLeastAsked = gpu::tuning::kGroups.least_asked;
/// More groups are sorted.
constexpr std::int64_t kMostNumbered = gpu::tuning::kGroups.most_numbered;

__global__ void count_rows(const std::int64_t* offsets, std::int64_t groups, std::int64_t* counts) {
  const std::int64_t g = own_index();
  if (g < groups) counts[g] = offsets[g + 1] - offsets[g];
}

__global__ void narrow_sums(const std::int64_t* sums, std::int64_t groups, std::int32_t* out) {
  const std::int64_t g = own_index();
  if (g < groups) out[g] = static_cast<std::int32_t>(sums[g]);
}

/// Items that are numbered, and what becomes of them.
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

  /// Of the values themselves, as lists.
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

  /// Of partial sums and counts, which fit.
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
  /// Words of the items group by group, and where each group begins.
  struct Sorted {
    explicit Sorted(const Folding& of)
        : memory(of.policy_, [&](gpu::ScratchParts& parts) {
            offsets = parts.take<std::int64_t>(of.call_.groups + 1);
            words = parts.take<std::uint64_t>(of.n_);
          }) {}

    std::int64_t* offsets = nullptr;  // before memory, whose initialiser fills them
    std::uint64_t* words = nullptr;
    DeviceParts memory;
  };

  [[nodiscard]] gpu::detail::Grid grid() const { return grid_of(call_.groups, policy_.stream); }

  /// Of words of one type into `out`, of another or the same.
  void fold(const gpu::Policy& policy, const Sorted& sorted, Type in_type, void* out, Type out_type) const {
    fold_lists(policy, call_.op, {sorted.words, in_type, n_, out, out_type},
               Lists::by_offsets(sorted.offsets, call_.groups));
  }

  Call& call_;
  gpu::Policy policy_;
  std::int64_t n_;
  NumberedItems<Key> items_;
  std::int64_t* firsts_ = nullptr;  ///< first rows, by which checked sums say what does not fit
  std::optional<DeviceParts> firsts_memory_;
};

/// Bytes that device memory has, at most, for a call on the current device, which is `device`.
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

/// Throws device_memory where the pool has too little for rows that are numbered and sorted: at least what is allocated for them.
/// What a memory resource of the caller has nobody knows.
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

/// done(folding) of the rows, numbered; or they are sorted by their keys, which is faster where most of them are a group.
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

/// Whether they are sums that need no check, or are kept in 64 bits and checked by the sizes of the values.
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

extern const Rung cuda_adaptive{
    .info = {.id = "cuda.adaptive",
             .idea = "few groups in one reading; others numbered, then in parts",
             .needs = "any GPU",
             .traffic = "of few keys keys and values read; of many numbers and values sorted",
             .cost = "n, that of the lists",
             .limit = "the passes, fewer than those of keys",
             .host_adds = true},
    .refusal = device_refusal,
    .run = launch};

}  // namespace upsweep::impl::group_by
