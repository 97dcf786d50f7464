// SPDX-License-Identifier: Apache-2.0
// io/vocabulary.hpp: a dictionary in the making, of texts that stay where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// What a batch's columns point to.
using Memory = std::vector<std::shared_ptr<const void>>;

/// A dictionary: texts, and what they lie in.
class Vocabulary {
 public:
  /// `may_repeat`: a text may be there several times; where nearly all of the first are different no others are looked for.
  explicit Vocabulary(bool may_repeat = false) : may_repeat_(may_repeat) {}

  Dictionary words;
  Memory memory;

  /// The text's index. Throws unsupported_type where there are more than indices; `name` is for the message.
  std::int32_t find_or_add(std::string_view text, const std::string& name);

 private:
  // Of an open hash table: over texts that are all different a map of the standard library takes several times as long.
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t index = -1;  // of the text; -1: free
  };

  std::int32_t add(std::string_view text, const std::string& name);
  [[nodiscard]] std::size_t find(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  bool may_repeat_;
  std::int64_t looked_for_ = 0;  // texts
  bool looks_up_ = true;         // those that follow
};

}  // namespace upsweep::io
