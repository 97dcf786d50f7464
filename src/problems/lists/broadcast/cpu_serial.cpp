// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/cpu_serial.cpp: a loop over the lists, with an inner loop over the elements of each list.
//
// Idea   for each list i, for each j of its elements: out[k++] = j, or i, or values[i].
// Cost   One pass: offsets read, an element each written. Work and depth n + elements.
// Needs  Any CPU.
// Limit  The exit of the inner loop is mispredicted once per short list. One thread does all the work. Outputs are read
//        before they are written. cpu.staged has none of these costs.
// From   Awkward Array's awkward_ListArray_localindex.
#include <cstddef>
#include <type_traits>

#include "core/adjacent_lists.hpp"
#include "problems/lists/broadcast/rung.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::impl::broadcast {

namespace {

/// A value that is copied without interpretation, from any address.
template <std::size_t kSize>
struct Bytes {
  std::byte bytes[kSize];
};

template <class F>
bool visit_size(std::int64_t size, F f) {
  if (size == 1) return f(std::type_identity<Bytes<1>>{});
  if (size == 2) return f(std::type_identity<Bytes<2>>{});
  if (size == 4) return f(std::type_identity<Bytes<4>>{});
  if (size == 8) return f(std::type_identity<Bytes<8>>{});
  return f(std::type_identity<Bytes<16>>{});
}

/// Writes value(list, position) for every element. Returns false if offsets decrease; never writes past the output's
/// end.
template <class Offsets, class E, class Value>
bool write_lists(const Offsets& offsets, std::int64_t n, E* out, Value value) {
  const std::int64_t end = offsets(n);
  std::int64_t start = offsets(0);
  // [guide: lists]
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t stop = offsets(i + 1);
    if (stop < start || stop > end) return false;
    for (std::int64_t j = 0; j < stop - start; ++j) *out++ = value(i, j);
    start = stop;
  }
  // [guide: end]
  return true;
}

template <class Offsets>
bool write_kind(const Call& call, const Offsets& offsets) {
  auto* const out = static_cast<std::int64_t*>(call.out);
  const std::int64_t n = call.lists.count;
  switch (call.kind) {
    case Kind::local_index:
      return write_lists(offsets, n, out, [](std::int64_t, std::int64_t position) { return position; });
    case Kind::parents:
      return write_lists(offsets, n, out, [](std::int64_t list, std::int64_t) { return list; });
    case Kind::broadcast:
      return visit_size(call.element_size, [&]<class E>(std::type_identity<E>) {
        const auto* const values = static_cast<const E*>(call.values);
        return write_lists(offsets, n, static_cast<E*>(call.out),
                           [&](std::int64_t list, std::int64_t) { return values[list]; });
      });
  }
  detail::no_such_value();
}

Status run(const Call& call, const Policy&) noexcept {
  const bool good = visit_offsets(call.lists, [&](const auto& offsets) { return write_kind(call, offsets); });
  return {good ? Code::ok : Code::stop_before_start};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop, list after list",
                                      .needs = "any CPU",
                                      .traffic = kOnePass,
                                      .cost = "n + e, n + e",
                                      .limit = "a mispredicted branch at the end of each short list",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::broadcast
