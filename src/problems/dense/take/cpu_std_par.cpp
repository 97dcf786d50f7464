// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/cpu_std_par.cpp: std::transform on oneTBB, as a C++ user would write it.
//
// Idea   std::transform with std::execution::par, from indices to the elements at their positions, for each column.
// Cost   Indices once per column; an element read and written for each. Work n, depth n/p.
// Needs  Takes from arrays, not from lists. It runs on every core.
// Limit  A branch per index for its check. The first bad index is found by a search after all elements are copied.
// From   ISO/IEC 14882:2017, [alg.transform]; libstdc++'s PSTL.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <execution>
#include <new>

#include "cpu/moved_elements.hpp"
#include "cpu/std_par.hpp"
#include "problems/dense/take/rung.hpp"

namespace upsweep::impl::take {
namespace {

/// An element that is copied as bytes, from any address.
template <int kSize>
struct Bytes {
  std::byte bytes[static_cast<std::size_t>(kSize)];
};

const char* refusal(const Call& call, const Policy&) noexcept {
  return call.has_lists ? "takes from arrays, not from lists" : nullptr;
}

template <class At, class E>
void transform(const At* indices, std::int64_t n, const E* content, std::int64_t count, E* out,
               std::atomic<bool>& is_bad) {
  std::transform(std::execution::par, indices, indices + n, out, [=, &is_bad](At at) {
    const auto index = static_cast<std::int64_t>(at);
    if (is_in(index, count)) return content[index < 0 ? index + count : index];
    is_bad.store(true, std::memory_order_relaxed);
    return E{};
  });
}

Status run(Call& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  call.taken = call.indices.length;
  std::atomic<bool> is_bad{false};
  for (const SelectColumn& column : call.columns) {
    visit_list_bound(call.indices.type, [&]<class At>(std::type_identity<At>) {
      cpu::visit_moved_size(column, [&]<int kBytes>(std::integral_constant<int, kBytes>) {
        transform(static_cast<const At*>(call.indices.data), call.indices.length,
                  static_cast<const Bytes<kBytes>*>(column.data), call.content, static_cast<Bytes<kBytes>*>(column.out),
                  is_bad);
      });
    });
  }
  return is_bad ? kBad : Status{};
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory, .reason = "no memory left for oneTBB's tasks"};
}

}  // namespace

extern const Rung cpu_std_par{.info = {.id = "cpu.std_par",
                                       .idea = "std::transform(par) on oneTBB",
                                       .needs = "arrays, no lists",
                                       .traffic = "indices per column; elements read and written",
                                       .cost = "n, n/p",
                                       .limit = "a branch per index",
                                       .kind = Kind::library,
                                       .threads = Threads::every},
                              .refusal = refusal,
                              .run = run};

}  // namespace upsweep::impl::take
