// SPDX-License-Identifier: Apache-2.0
// core/lists.cpp: the errors in the lists and masks of a call, and their messages.
#include "core/lists.hpp"

#include "upsweep/detail/scan_call.hpp"

namespace upsweep {

std::int64_t detail::lists_of_offsets(std::int64_t offsets) {
  if (offsets > 0) return offsets - 1;
  throw Error(Code::unequal_lengths, "the offsets are empty: n lists have n + 1 offsets");
}

void detail::require_as_many_stops(std::int64_t starts, std::int64_t stops) {
  if (starts == stops) return;
  throw Error(Code::unequal_lengths,
              "there are " + std::to_string(starts) + " starts, but " + std::to_string(stops) + " stops");
}

void detail::require_array(const void* data, std::int64_t n, const char* what, ArraysAre arrays) {
  if (arrays == ArraysAre::there || n < 0) require_array(data, n, what);
}

void detail::require_mask(const Mask& mask, std::int64_t length, const char* what, ArraysAre arrays) {
  if (!mask.is_given()) return;
  if (mask.first_bit < 0) {
    throw Error(Code::invalid_argument, std::string(what) + ": its first bit is before the beginning of its bitmap");
  }
  require_array(mask.data, mask.length, what, arrays);
  if (mask.length == length) return;
  throw Error(Code::unequal_lengths,
              std::string(what) + " has " + std::to_string(mask.length) + " booleans, not " + std::to_string(length));
}

void detail::require_an_element_each(const Lists& lists, std::int64_t outputs) {
  if (lists.count == outputs) return;
  throw Error(Code::unequal_lengths, "there are " + std::to_string(lists.count) + " lists, but the output has " +
                                         std::to_string(outputs) + " elements");
}

void detail::require_lists(const Lists& lists, std::int64_t content, ArraysAre arrays) {
  if (lists.count < 0) throw Error(Code::invalid_argument, "the number of lists must not be negative");
  // A call keeps some bytes for each list. They must be countable in 64 bits, before any memory turns out to be too
  // small.
  constexpr std::int64_t kMostLists = std::int64_t{1} << 48;
  if (lists.count > kMostLists) {
    throw Error(Code::invalid_argument, std::to_string(lists.count) + " lists are too many: a call takes at most 2^48");
  }
  require_mask(lists.valid, lists.count, "the validity of the lists", arrays);
  if (!lists.has_size) {
    if (!is_list_bound(lists.type)) {
      throw Error(Code::unsupported_type,
                  "bounds of lists are int32, uint32 or int64, not " + std::string(name(lists.type)));
    }
    require_array(lists.starts, lists.count, "starts", arrays);
    require_array(lists.stops, lists.count, "stops", arrays);
    return;
  }
  if (lists.size < 0) throw Error(Code::invalid_argument, "the size of the lists must not be negative");
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(lists.count, lists.size, &elements)) {
    throw Error(Code::overflow,
                std::to_string(lists.count) + " lists of " + std::to_string(lists.size) + " elements exceed int64");
  }
  if (elements <= content) return;
  throw Error(Code::unequal_lengths, std::to_string(lists.count) + " lists of " + std::to_string(lists.size) +
                                         " elements need " + std::to_string(elements) + ", but the content has " +
                                         std::to_string(content));
}

Code check_list(const Lists& lists, std::int64_t i, std::int64_t content) {
  return visit_bounds(lists, [&](auto bounds) { return check_list(bounds.start(i), bounds.stop(i), content); });
}

namespace {

constexpr const char* kOffsetOverflow = "the offset after it exceeds int64";

}  // namespace

std::string detail::invalid_list(std::int64_t list, const std::string& why) {
  return "list " + std::to_string(list) + " is invalid: " + why;
}

std::string detail::invalid_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop,
                                 std::int64_t content) {
  const std::string start_is = "start (" + std::to_string(start) + ")";
  const std::string stop_is = "stop (" + std::to_string(stop) + ")";
  switch (code) {
    case Code::stop_before_start:
      return invalid_list(list, stop_is + " < " + start_is);
    case Code::negative_start:
      return invalid_list(list, start_is + " < 0");
    case Code::overflow:
      return invalid_list(list, kOffsetOverflow);
    default:
      return invalid_list(list, stop_is + " > length of the content (" + std::to_string(content) + ")");
  }
}

void throw_bad_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t content) {
  throw Error(code, detail::invalid_list(code, list, start, stop, content), list);
}

void throw_offset_overflow(std::int64_t list) {
  throw Error(Code::overflow, detail::invalid_list(list, kOffsetOverflow), list);
}

void throw_too_small(const std::string& output, std::int64_t capacity, std::int64_t needed) {
  throw Error(Code::unequal_lengths,
              output + " is too small: needs " + std::to_string(needed) + " elements, has " + std::to_string(capacity));
}

void throw_changed(const std::string& what) {
  throw Error(Code::invalid_argument,
              what + " changed while the call ran: inputs must stay as they are until the call returns");
}

void require_capacity(const std::string& output, std::int64_t capacity, std::int64_t needed) {
  if (needed > capacity) throw_too_small(output, capacity, needed);
}

Lists lists_between(Type type, const void* starts, const void* stops, std::int64_t count) {
  Lists lists;
  lists.type = type;
  lists.starts = starts;
  lists.stops = stops;
  lists.count = count;
  return lists;
}

namespace {

/// Whether offsets may be lengths, which some callers pass by mistake: none is negative, and their sum is the content's
/// length.
bool may_be_lengths(const Lists& lists, std::int64_t content) {
  return visit_list_bound(lists.type, [&]<class T>(std::type_identity<T>) {
    const auto* const offsets = static_cast<const T*>(lists.starts);
    if (lists.has_size || lists.stops != offsets + 1) return false;
    std::int64_t left = content;
    for (std::int64_t i = 0; i <= lists.count && left >= 0; ++i) {
      const auto length = static_cast<std::int64_t>(offsets[i]);
      left = length < 0 ? -1 : left - length;
    }
    return left == 0;
  });
}

}  // namespace

void throw_bad_list(const Lists& lists, std::int64_t list, std::int64_t content) {
  visit_bounds(lists, [&](auto bounds) {
    const std::int64_t start = bounds.start(list);
    const std::int64_t stop = bounds.stop(list);
    const Code code = check_list(start, stop, content);
    if (code == Code::ok) throw_changed("list " + std::to_string(list));
    if (code != Code::stop_before_start || !may_be_lengths(lists, content)) {
      throw_bad_list(code, list, start, stop, content);
    }
    throw Error(code,
                detail::invalid_list(code, list, start, stop, content) +
                    "; the offsets add up to the content's length, as lengths do: lengths_to_offsets makes offsets of "
                    "lengths",
                list);
  });
  detail::no_such_value();
}

}  // namespace upsweep
