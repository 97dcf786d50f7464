// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/bits.cpp: any, all, count_nonzero, by one bit per element that says whether it is
// nonzero.
#include <cstring>
#include <memory>

#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/results.hpp"
#include "problems/lists/segmented_reduce/staged_content.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

/// See Worker. The total of a block is the number of its nonzero elements; for `all`, minus the number of its elements.
class Bits {
 public:
  static constexpr bool kSetsLongAside = true;

  explicit Bits(const Job& job)
      : call_(job.call),
        kernels_(job.kernels.bits),
        nonzero_(job.kernels.nonzero[cpu::at(call_.in_type)]),
        content_(job, call_.in_type, Layout::packed),
        results_(job, call_.in_type),
        // The kernels read seven bytes past the last bit.
        bits_(std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(content_.capacity() / 8 + 9))) {}

  std::int64_t reduce(const SomeLists& lists) {
    return content_.for_each_stage(lists, [&](const SomeLists& some, const Content& content) {
      nonzero_(content.data, content.end, bits_.get());
      results_.put_each(some.count, some.first, [&](void* out) { reduce(some, out); });
      return kNoIndex;
    });
  }
  void finish() {}
  [[nodiscard]] std::int64_t total_size() const { return sizeof(std::int64_t); }
  void fold_blocks(const cpu::LongList& /*list*/, cpu::Range blocks, const SomeLists& bounds, std::byte* totals) {
    const Content content = content_.stage(bounds);
    auto* const counts = reinterpret_cast<std::int64_t*>(totals);
    nonzero_(content.data, content.end, bits_.get());
    kernels_.count(bits_.get(), bounds.from(), bounds.to(), blocks.count, counts);
    if (call_.reducer != Reducer::all) return;
    for (std::int64_t b = 0; b < blocks.count; ++b) counts[b] -= bounds.to()[b] - bounds.from()[b];
  }
  [[nodiscard]] bool finish_long(const cpu::LongList& list, const std::byte* totals) const {
    std::int64_t count = 0;
    for (std::int64_t b = 0; b < list.blocks(); ++b) count += reinterpret_cast<const std::int64_t*>(totals)[b];
    std::byte* const out = static_cast<std::byte*>(call_.out) + list.list * call_.out_size;
    if (call_.reducer == Reducer::count_nonzero) {
      std::memcpy(out, &count, sizeof count);
    } else {
      *out = static_cast<std::byte>(call_.reducer == Reducer::any ? count != 0 : count == 0);
    }
    return true;
  }

 private:
  void reduce(const SomeLists& lists, void* out) const {
    if (call_.reducer == Reducer::count_nonzero) {
      kernels_.count(bits_.get(), lists.from(), lists.to(), lists.count, static_cast<std::int64_t*>(out));
    } else {
      (call_.reducer == Reducer::any ? kernels_.any : kernels_.all)(bits_.get(), lists.from(), lists.to(), lists.count,
                                                                    static_cast<std::uint8_t*>(out));
    }
  }

  const detail::SegmentedReduceCall& call_;
  const cpu::BitListKernels& kernels_;
  void (*nonzero_)(const void* x, std::int64_t n, std::uint8_t* bits);
  StagedContent content_;
  Results results_;
  std::unique_ptr<std::uint8_t[]> bits_;
};

}  // namespace

std::int64_t reduce_bits(const Job& job) { return reduce_by<Bits>(job); }

}  // namespace upsweep::impl::segmented_reduce
