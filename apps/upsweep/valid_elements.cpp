// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/valid_elements.cpp: copies the elements that are not NULL into chunks of the requested length.
#include "valid_elements.hpp"

#include <cstddef>
#include <numeric>

#include "upsweep/types.hpp"

namespace upsweep::command {
namespace {

bool has_null(const io::Chunk& chunk) {
  if (!chunk.valid.is_given()) return false;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    if (!chunk.valid[i]) return true;
  }
  return false;
}

}  // namespace

std::int64_t ValidChunk::nulls_up_to(std::int64_t index) const {
  if (nulls_before.empty()) return 0;
  return std::accumulate(nulls_before.begin(), nulls_before.begin() + index + 1, std::int64_t{0});
}

ValidChunk ValidElements::next(std::int64_t count) {
  io::Chunk chunk = reader_.next(count);
  if (gap_ == 0 && !has_null(chunk)) return {chunk.data, chunk.count};
  elements_.clear();
  nulls_before_.clear();
  for (; chunk.count > 0; chunk = reader_.next(count - std::ssize(nulls_before_))) {
    append(chunk);
    if (std::ssize(nulls_before_) == count) break;
  }
  return {elements_.data(), std::ssize(nulls_before_), nulls_before_};
}

void ValidElements::append(const io::Chunk& chunk) {
  const std::int64_t width = size_of(reader_.info().type);
  const auto* element = static_cast<const std::byte*>(chunk.data);
  for (std::int64_t i = 0; i < chunk.count; ++i, element += width) {
    if (chunk.valid.is_given() && !chunk.valid[i]) {
      ++gap_;
      ++nulls_;
      continue;
    }
    elements_.insert(elements_.end(), element, element + width);
    nulls_before_.push_back(gap_);
    gap_ = 0;
  }
}

}  // namespace upsweep::command
