// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/folds.cpp: folds lists by an operator; integers wrap (modulo 2^bits).
#include "problems/lists/segmented_reduce/folds.hpp"

#include <cstring>

#include "cpu/elements.hpp"

namespace upsweep::impl::segmented_reduce {

FoldKernel::FoldKernel(const Job& job)
    : call_(job.call), kernels_(job.kernels), type_(cpu::computed_in(call_.out_type)) {
  if (is_custom()) return;
  cpu::convert_one(call_.out_type, type_, call_.init, init_.bytes.data());
  identity_ = cpu::identity_of(type_, call_.op);
}

void FoldKernel::run(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
                     void* out) const {
  const auto fold = is_custom()           ? call_.custom_fold->fold
                    : call_.empty_is_zero ? kernels_.sum[cpu::at(type_)]
                                          : kernels_.fold[cpu::at(type_)][cpu::at(call_.op)];
  fold(cpu::operator_object(call_), content.data, content.end, from, to, lists,
       is_custom() ? call_.init : init_.bytes.data(), out);
  if (!is_custom() || !call_.empty_is_zero) return;
  for (std::int64_t i = 0; i < lists; ++i) {
    if (from[i] >= to[i]) zero(static_cast<std::byte*>(out) + i * result_size());
  }
}

void FoldKernel::run_blocks(const Content& content, const std::int64_t* from, const std::int64_t* to,
                            std::int64_t blocks, void* out) const {
  const auto fold = is_custom() ? call_.custom_fold->fold : kernels_.fold[cpu::at(type_)][cpu::at(call_.op)];
  fold(cpu::operator_object(call_), content.data, content.end, from, to, blocks,
       is_custom() ? nullptr : identity_.bytes.data(), out);
}

void FoldKernel::fold_totals(const std::byte* totals, std::int64_t count, void* out) const {
  const std::int64_t from = 0;
  const auto fold =
      is_custom() ? call_.custom_fold->fold_totals : cpu::list_kernels_plain().fold[cpu::at(type_)][cpu::at(call_.op)];
  fold(cpu::operator_object(call_), totals, count, &from, &count, 1, is_custom() ? call_.init : init_.bytes.data(),
       out);
}

void FoldKernel::zero(void* result) const { std::memset(result, 0, static_cast<std::size_t>(result_size())); }

bool is_all_null(const detail::SegmentedReduceCall& call, std::int64_t start, std::int64_t stop) {
  if (!call.valid.is_given()) return start == stop;
  while (start < stop && !call.valid[start]) ++start;
  return start == stop;
}

Folds::Folds(const Job& job, Layout layout)
    : call_(job.call),
      kernel_(job),
      content_(job, kernel_.type(), layout),
      results_(job, kernel_.type()),
      by_length_(job, kernel_, results_) {}

std::int64_t Folds::reduce(const SomeLists& lists) {
  return content_.for_each_stage(lists, [&](const SomeLists& some, const Content& content) {
    fold(some, content);
    return kNoIndex;
  });
}

void Folds::finish() { by_length_.finish({static_cast<const std::byte*>(call_.in), call_.n}); }

void Folds::fold_blocks(const cpu::LongList& /*list*/, cpu::Range blocks, const SomeLists& bounds, std::byte* totals) {
  kernel_.run_blocks(content_.stage(bounds), bounds.from(), bounds.to(), blocks.count, totals);
}

bool Folds::finish_long(const cpu::LongList& list, const std::byte* totals) const {
  alignas(64) detail::CarryBytes total;
  kernel_.fold_totals(totals, list.blocks(), total.bytes);
  if (call_.empty_is_zero && is_all_null(call_, list.start, list.stop)) kernel_.zero(total.bytes);
  std::byte* const out = static_cast<std::byte*>(call_.out) + list.list * call_.out_size;
  if (results_.narrows()) {
    cpu::convert_one(kernel_.type(), call_.out_type, total.bytes, out);
  } else {
    std::memcpy(out, total.bytes, static_cast<std::size_t>(call_.out_size));
  }
  return true;
}

std::int64_t fold_values(const Job& job) { return reduce_by<Folds>(job); }

}  // namespace upsweep::impl::segmented_reduce
