// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/layout.cpp: computes the offsets of a call's lists on all cores, and finds the error of the first
// bad list.
#include "problems/lists/pack/layout.hpp"

#include <string>

namespace upsweep::impl::pack {
namespace {

Code check_view(const detail::PackCall& call, std::int64_t i) {
  return visit_list_bound(call.lists.type, [&]<class T>(std::type_identity<T>) {
    const auto start = static_cast<std::int64_t>(static_cast<const T*>(call.lists.starts)[i]);
    const auto size = static_cast<std::int64_t>(static_cast<const T*>(call.sizes)[i]);
    if (size == 0) return Code::ok;
    if (size < 0) return Code::stop_before_start;
    if (start < 0) return Code::negative_start;
    return size > call.content || start > call.content - size ? Code::stop_past_end : Code::ok;
  });
}

/// Throws the Error of a bad view in host memory.
[[noreturn]] void throw_view(const detail::PackCall& call, const Status& status) {
  visit_list_bound(call.lists.type, [&]<class T>(std::type_identity<T>) {
    throw_bad_view(status, static_cast<std::int64_t>(static_cast<const T*>(call.lists.starts)[status.index]),
                   static_cast<std::int64_t>(static_cast<const T*>(call.sizes)[status.index]), call.content);
  });
  detail::no_such_value();
}

}  // namespace

Code check_packed(const detail::PackCall& call, std::int64_t i) noexcept {
  const bool valid = !call.lists.valid.is_given() || call.lists.valid[i];
  const Code code = !valid                  ? Code::ok
                    : call.sizes != nullptr ? check_view(call, i)
                                            : check_list(call.lists, i, call.content);
  if (code != Code::ok || !call.offsets_given) return code;
  const std::int64_t length = visit_lengths(call, [&](const auto& lengths) { return lengths(i); });
  std::int64_t given = 0;
  const bool fits = !__builtin_sub_overflow(call.offsets[i + 1], call.offsets[i], &given) && given == length;
  return fits ? Code::ok : Code::unequal_lengths;
}

Status first_bad(const detail::PackCall& call) noexcept {
  for (std::int64_t i = 0; i < call.lists.count; ++i) {
    if (const Code code = check_packed(call, i); code != Code::ok) return {code, i};
  }
  return {};
}

Status lay_out(detail::PackCall& call, int threads) {
  const std::int64_t n = call.lists.count;
  if (call.offsets_given) {
    const bool overflows = __builtin_sub_overflow(call.offsets[n], call.offsets[0], &call.total);
    if (!overflows && call.total >= 0 && call.total <= call.capacity) return {};
    const Status bad = first_bad(call);
    return bad.ok() ? Status{Code::unequal_lengths} : bad;
  }
  const std::int64_t bad =
      visit_lengths(call, [&](const auto& lengths) { return lay_out(lengths, n, call.offsets, threads); });
  if (bad != kNoIndex) {
    const Code code = check_packed(call, bad);
    return {code == Code::ok ? Code::overflow : code, bad};  // the list is valid, so its offset overflows
  }
  call.total = call.offsets[n];
  return {call.total <= call.capacity ? Code::ok : Code::unequal_lengths};
}

void throw_bad_view(const Status& status, std::int64_t start, std::int64_t size, std::int64_t content) {
  if (status.code == Code::negative_start) throw_bad_list(status.code, status.index, start, start, content);
  const std::string size_is = "size (" + std::to_string(size) + ")";
  const std::string reason = status.code == Code::stop_before_start
                                 ? size_is + " < 0"
                                 : "start (" + std::to_string(start) + ") + " + size_is + " > length of the content (" +
                                       std::to_string(content) + ")";
  throw Error(status.code, detail::invalid_list(status.index, reason), status.index);
}

void throw_bad_packed(const detail::PackCall& call, const Status& status) {
  switch (status.code) {
    case Code::overflow:
      throw_offset_overflow(status.index);
    case Code::unequal_lengths:
      if (status.index == kNoIndex) throw_too_small("an output", call.capacity, call.total);
      throw Error(status.code,
                  detail::invalid_list(status.index,
                                       "its length differs from that of its offsets: cannot broadcast nested list"),
                  status.index);
    default:
      if (call.sizes != nullptr) throw_view(call, status);
      throw_bad_list(call.lists, status.index, call.content);
  }
}

}  // namespace upsweep::impl::pack
