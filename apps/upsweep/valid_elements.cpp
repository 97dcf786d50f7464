// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/valid_elements.cpp: copies the elements that are not NULL into chunks of the requested length.
#include "valid_elements.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "output.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/types.hpp"

namespace upsweep::command {
namespace {

constexpr const char* kWhat = "the elements that are not NULL";

bool has_null(const io::Chunk& chunk) {
  if (!chunk.valid.is_given()) return false;
  if (!chunk.valid.is_bitmap) return std::memchr(chunk.valid.data, 0, static_cast<std::size_t>(chunk.count)) != nullptr;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    if (!chunk.valid[i]) return true;
  }
  return false;
}

/// Copies the elements that are not NULL, and writes their rows: the first element has row `row`. Returns their number.
/// Each element is copied, and a NULL element is then overwritten: the order of NULL elements is not predictable, and a
/// branch would be slow. Both outputs therefore need capacity for all elements.
template <class T>
std::int64_t keep_valid(const io::Chunk& chunk, std::int64_t row, T* to, std::int64_t* rows) {
  const T* const from = static_cast<const T*>(chunk.data);
  const Mask valid = chunk.valid;
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    to[kept] = from[i];
    rows[kept] = row + i;
    kept += valid[i] ? 1 : 0;
  }
  return kept;
}

}  // namespace

ValidChunk ValidElements::next(std::int64_t count) {
  io::Chunk chunk = reader_.next(count);
  Stopwatch watch;
  if (gap_ == 0 && !has_null(chunk)) {
    seconds_ += watch.seconds();
    return {.data = chunk.data, .count = chunk.count};
  }
  const std::int64_t before = gap_;
  kept_ = 0;
  read_ = gap_;
  while (chunk.count > 0) {
    append(chunk);
    seconds_ += watch.seconds();
    if (kept_ == count) break;
    chunk = reader_.next(count - kept_);
    watch = Stopwatch();
  }
  const auto* const rows = reinterpret_cast<const std::int64_t*>(rows_.data());
  gap_ = kept_ > 0 ? read_ - 1 - rows[kept_ - 1] : read_;
  return {.data = elements_.data(),
          .count = kept_,
          .nulls = read_ - before - kept_,
          .rows = {rows, static_cast<std::size_t>(kept_)}};
}

void ValidElements::append(const io::Chunk& chunk) {
  const Type type = reader_.info().type;
  elements_.reserve(kept_ + chunk.count, size_of(type), kWhat);
  rows_.reserve(kept_ + chunk.count, sizeof(std::int64_t), kWhat);
  auto* const rows = reinterpret_cast<std::int64_t*>(rows_.data()) + kept_;
  const std::int64_t row = read_;
  read_ += chunk.count;
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    T* const to = reinterpret_cast<T*>(elements_.data()) + kept_;
    if (chunk.valid.is_given()) {
      kept_ += keep_valid(chunk, row, to, rows);
    } else {
      std::copy_n(static_cast<const T*>(chunk.data), chunk.count, to);
      for (std::int64_t i = 0; i < chunk.count; ++i) rows[i] = row + i;
      kept_ += chunk.count;
    }
  });
}

}  // namespace upsweep::command
