// SPDX-License-Identifier: Apache-2.0
// select/problem.cpp: the select ladder in order, which rung runs a call, and the calls: validated, run, failures as Errors.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/lists.hpp"
#include "select/arrays.hpp"
#include "select/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace selection {

// The ladder, from the naive loop up: every rung is declared in the file of its name, or beside the one that
// it is an argument away from.
extern const Rung cpu_serial, cpu_branchless, cpu_threads, cpu_tbb, cpu_compress;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_branchless, &cpu_threads, &cpu_tbb, &cpu_compress};
constexpr Ladder<detail::SelectCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

// Below that many elements and lists together the loop is as fast as setting up the marks.
constexpr std::int64_t kSerialUnits = 64;

const Rung& choose(const detail::SelectCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  const bool few = call.mask.length <= kSerialUnits && call.lists.count <= kSerialUnits;
  return few ? cpu_serial : cpu_compress;
}

/// Throws where more is kept than an output takes; a bad list comes first.
[[noreturn]] void throw_no_room(const Policy& policy, const detail::SelectCall& call) {
  detail::SelectCall count{.has_lists = call.has_lists, .lists = call.lists, .mask = call.mask};
  detail::run_select(policy.with_rung({}), count);
  for (std::size_t c = 0; c < call.columns.size(); ++c) {
    if (call.columns[c].capacity >= count.kept) continue;
    throw Error(Code::unequal_lengths, "the output of column " + std::to_string(c) + " has room for " +
                                           std::to_string(call.columns[c].capacity) + " elements, but " +
                                           std::to_string(count.kept) + " are kept");
  }
  detail::no_such_value();
}

}  // namespace

std::int64_t require_columns(std::span<const SelectColumn> columns, std::int64_t length, const char* as) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const SelectColumn& column = columns[c];
    const std::string which = "column " + std::to_string(c);
    if (column.size != 1 && column.size != 2 && column.size != 4 && column.size != 8 && column.size != 16) {
      throw Error(Code::unsupported_type, which + " has elements of " + std::to_string(column.size) +
                                              " bytes: they must be of 1, 2, 4, 8 or 16");
    }
    detail::require_array(column.content, column.length, which.c_str());
    detail::require_array(column.out, column.capacity, ("the output of " + which).c_str());
    if (column.length != length) {
      throw Error(Code::unequal_lengths, which + " has " + std::to_string(column.length) + " elements, but " + as +
                                             " has " + std::to_string(length));
    }
    room = std::min(room, column.capacity);
  }
  return room;
}

void require_apart(std::span<const Bytes> inputs, std::span<const Bytes> outputs) {
  const auto overlap = [](const Bytes& a, const Bytes& b) {
    const auto from = reinterpret_cast<std::uintptr_t>(a.data);
    const auto to = reinterpret_cast<std::uintptr_t>(b.data);
    return a.count > 0 && b.count > 0 && from < to + static_cast<std::uintptr_t>(b.count) &&
           to < from + static_cast<std::uintptr_t>(a.count);
  };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const bool over_input = std::ranges::any_of(inputs, [&](const Bytes& in) { return overlap(in, outputs[o]); });
    const bool over_output =
        std::ranges::any_of(outputs.subspan(o + 1), [&](const Bytes& other) { return overlap(other, outputs[o]); });
    if (over_input || over_output) {
      throw Error(Code::invalid_argument, "an output overlaps another array: each needs memory of its own");
    }
  }
}

void add_columns(std::span<const SelectColumn> columns, std::vector<Bytes>& inputs, std::vector<Bytes>& outputs) {
  for (const SelectColumn& column : columns) {
    inputs.push_back({column.content, column.length * column.size});
    outputs.push_back({column.out, column.capacity * column.size});
  }
}

void add_lists(const Lists& lists, std::vector<Bytes>& inputs) {
  if (lists.has_size) return;
  inputs.push_back({lists.starts, lists.count * size_of(lists.type)});
  inputs.push_back({lists.stops, lists.count * size_of(lists.type)});
}

void add_mask(const Mask& mask, std::vector<Bytes>& inputs) {
  if (mask.is_given()) inputs.push_back({mask.data, mask.bytes()});
}

void require_call(const Policy& policy, detail::SelectCall& call) {
  require_policy(policy);
  if (!call.mask.is_given()) throw Error(Code::invalid_argument, "there is no mask to select by");
  detail::require_mask(call.mask, call.mask.length, "the mask");
  if (call.has_lists) detail::require_lists(call.lists, call.mask.length);
  call.room = require_columns(call.columns, call.mask.length, "the mask");
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
  add_columns(call.columns, inputs, outputs);
  add_mask(call.mask, inputs);
  if (call.has_lists) {
    add_lists(call.lists, inputs);
    add_mask(call.lists.valid, inputs);
    const std::int64_t offsets = call.out_offsets == nullptr ? 0 : call.lists.count + 1;
    outputs.push_back({call.out_offsets, offsets * std::int64_t{sizeof(std::int64_t)}});
  }
  require_apart(inputs, outputs);
}

}  // namespace selection

std::string_view detail::run_select(const Policy& policy, SelectCall& call) {
  selection::require_call(policy, call);
  const auto& rung = selection::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.index != kNoIndex) throw_bad_list(call.lists, status.index, call.mask.length);
  if (status.code == Code::unequal_lengths) selection::throw_no_room(policy, call);
  throw_status(status, rung.info.id);
}

}  // namespace upsweep
