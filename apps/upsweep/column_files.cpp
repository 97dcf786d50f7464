// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/column_files.cpp: folds the files of a column, on one rank and over all of them.
#include "column_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "upsweep/detail/carry.hpp"
#include "upsweep/error.hpp"
#include "valid_elements.hpp"

namespace upsweep::command {
namespace {

void merge(Operator op, dynamic::Carry& left, dynamic::Carry& right) {
  visit_type(left.type(), [&]<class T>(std::type_identity<T>) {
    visit_operator<T>(op, [&](auto combine) {
      detail::merge(combine, *static_cast<ScanCarry<T>*>(left.data()), *static_cast<ScanCarry<T>*>(right.data()));
    });
  });
}

}  // namespace

std::unique_ptr<io::ColumnReader> open_input(const Common& common, const std::string& input, const std::string& nulls) {
  if (nulls != "skip" && nulls != "refuse") {
    refuse("--nulls '{}' is not one of skip, refuse", printable(nulls));
  }
  auto reader =
      io::open_column(input, common.threads, nulls == "skip" ? io::Nulls::given : io::Nulls::refused, common.csv);
  take_remarks(reader->remarks(), common.shows_remarks());
  reader->set_null_advice("--nulls skip leaves out NULL elements");
  return reader;
}

std::unique_ptr<io::ColumnReader> open_file(const Common& common, const std::string& file, const io::ColumnInfo& first,
                                            const std::string& nulls) {
  auto reader = open_input(common, file, nulls);
  const io::ColumnInfo& info = reader->info();
  if (info.type != first.type || info.meaning != first.meaning || info.scale != first.scale) {
    throw Error(Code::unsupported_type,
                fmt::format("{} is {}, but {} is {}: all files must be of one type", info.name,
                            type_text(info.type, info), first.name, type_text(first.type, first)));
  }
  return reader;
}

Work fold_column(const Common& common, const Policy& policy, Operator op, io::ColumnReader& reader,
                 dynamic::Carry& carry, std::int64_t device_bytes) {
  const io::ColumnInfo& info = reader.info();
  ValidElements elements(reader);
  const auto run = [&](dynamic::Staged* device, const Policy& chosen, const ValidChunk& chunk) {
    const dynamic::ConstArray from{chunk.data, chunk.count, info.type};
    return device != nullptr ? device->reduce(chosen.overflow, op, from, carry)
                             : dynamic::reduce(chosen, op, from, carry);
  };
  Work work = work_on_chunks(
      common, policy, "reducing", reader.expected_count(),
      [&] { return elements.next(chunk_length(common, info, kDeviceLengthInChunks)); }, run, [](const ValidChunk&) {},
      device_bytes);
  work.seconds += elements.seconds();
  return work;
}

Folded fold_ranks(const Ranks& ranks, Operator op, const Folded& begin, const Folded& mine, int end) {
  Folded folded = begin;
  dynamic::Carry carry = mine.carry;
  const auto carry_bytes = static_cast<std::size_t>(carry.size());
  std::string bytes(carry_bytes + sizeof mine.count, '\0');
  std::memcpy(bytes.data(), carry.data(), carry_bytes);
  std::memcpy(bytes.data() + carry_bytes, &mine.count, sizeof mine.count);
  const auto all = ranks.gather(bytes);
  for (std::size_t r = 0; r < static_cast<std::size_t>(end); ++r) {
    Folded next{dynamic::Carry(begin.carry.type())};
    std::memcpy(next.carry.data(), all[r].data(), carry_bytes);
    std::memcpy(&next.count, all[r].data() + carry_bytes, sizeof next.count);
    merge(op, folded.carry, next.carry);
    folded.count += next.count;
  }
  return folded;
}

std::int64_t total(const Ranks& ranks, std::int64_t mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::int64_t sum = 0;
  for (const std::string& one : ranks.gather(bytes)) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, one.data(), sizeof theirs);
    sum += theirs;
  }
  return sum;
}

double slowest(const Ranks& ranks, const Work& work) {
  std::string bytes(sizeof work.seconds, '\0');
  std::memcpy(bytes.data(), &work.seconds, sizeof work.seconds);
  double most = 0;
  for (const std::string& one : ranks.gather(bytes)) {
    double seconds = 0;
    std::memcpy(&seconds, one.data(), sizeof seconds);
    most = std::max(most, seconds);
  }
  return most;
}

std::string name_for_rank(const std::string& path, const std::string& rank) {
  const std::size_t name = path.rfind('/') + 1;  // 0 without a folder
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > name;
  return path.substr(0, has_ending ? dot : path.size()) + "." + rank + (has_ending ? path.substr(dot) : "");
}

}  // namespace upsweep::command
