// SPDX-License-Identifier: Apache-2.0
// ragged/api.cpp: validates a request for ragged offsets, runs its rung and turns a failure into an Error.
#include <string>

#include "ragged/ladder.hpp"
#include "upsweep/detail/ragged_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {
namespace {

std::string bound_text(const RaggedCall& call, const void* bounds, std::int64_t i) {
  if (call.type == Type::int32) return std::to_string(static_cast<const std::int32_t*>(bounds)[i]);
  if (call.type == Type::uint32) return std::to_string(static_cast<const std::uint32_t*>(bounds)[i]);
  return std::to_string(static_cast<const std::int64_t*>(bounds)[i]);
}

std::string message(const Status& status, const RaggedCall& call) {
  const std::int64_t i = status.index - call.carry.lists;
  const std::string list = "list " + std::to_string(status.index);
  const std::string start = bound_text(call, call.starts, i);
  const std::string stop = bound_text(call, call.stops, i);
  switch (status.code) {
    case Code::stop_before_start:
      return list + " stops at " + stop + ", before its start " + start;
    case Code::negative_start:
      return list + " starts at " + start + ": starts must not be negative";
    default:
      return list + ", from " + start + " to " + stop + ", takes the offsets past the largest int64";
  }
}

}  // namespace

std::string_view run_offsets(const Policy& policy, RaggedCall& call) {
  require_array(call.starts, call.n, "starts");
  require_array(call.stops, call.n, "stops");
  if (call.offsets == nullptr) throw Error(Code::invalid_argument, "offsets: a null pointer");
  const std::int64_t in_bytes = call.n * size_of(call.type);
  const std::int64_t out_bytes = (call.n + 1) * std::int64_t{sizeof(std::int64_t)};
  if (!same_or_apart(call.starts, in_bytes, call.offsets, out_bytes) ||
      !same_or_apart(call.stops, in_bytes, call.offsets, out_bytes)) {
    throw Error(Code::invalid_argument, "offsets overlap the starts or stops: they need memory of their own");
  }
  require_policy(policy);
  const auto& rung = ragged_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.index != kNoIndex) throw Error(status.code, message(status, call), status.index);
  throw_status(status, rung.info.id);
}

std::int64_t list_count(std::int64_t starts, std::int64_t stops, std::int64_t starts_offset, std::int64_t stops_offset,
                        std::int64_t length) {
  if (starts_offset < 0 || stops_offset < 0) {
    throw Error(Code::invalid_argument, "the offsets into starts and stops must not be negative");
  }
  if (length < -1) throw Error(Code::invalid_argument, "the length must not be negative");
  const std::int64_t left_starts = starts - starts_offset;
  const std::int64_t left_stops = stops - stops_offset;
  const auto left = [](const char* what, std::int64_t size, std::int64_t offset) {
    return std::string(what) + " has " + std::to_string(size) + " elements, " + std::to_string(size - offset) +
           " of them behind offset " + std::to_string(offset);
  };
  const auto require_reach = [](const char* what, std::int64_t size, std::int64_t offset) {
    if (offset <= size) return;
    throw Error(Code::unequal_lengths, std::string(what) + " has " + std::to_string(size) +
                                           " elements: too few for offset " + std::to_string(offset));
  };
  require_reach("starts", starts, starts_offset);
  require_reach("stops", stops, stops_offset);
  if (length == -1) {
    if (left_starts != left_stops) {
      throw Error(Code::unequal_lengths, left("starts", starts, starts_offset) + ", but " +
                                             left("stops", stops, stops_offset) +
                                             ": they must be equal, or give a length");
    }
    return left_starts;
  }
  if (left_starts < length) {
    throw Error(Code::unequal_lengths,
                left("starts", starts, starts_offset) + ": too few for length " + std::to_string(length));
  }
  if (left_stops < length) {
    throw Error(Code::unequal_lengths,
                left("stops", stops, stops_offset) + ": too few for length " + std::to_string(length));
  }
  return length;
}

void require_offsets(std::int64_t offsets, std::int64_t n) {
  if (offsets == n + 1) return;
  throw Error(Code::unequal_lengths, "offsets of " + std::to_string(n) + " lists take " + std::to_string(n + 1) +
                                         " elements, not " + std::to_string(offsets));
}

}  // namespace upsweep::detail
