// SPDX-License-Identifier: Apache-2.0
// io/vocabulary.hpp: builds a dictionary of strings, which are not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Owners of the memory that a batch's columns point to.
using Memory = std::vector<std::shared_ptr<const void>>;

/// Throws malformed for a row of the column `name` whose text is not UTF-8.
[[noreturn]] void throw_not_utf8(const std::string& name, std::int64_t row);

/// A dictionary: strings, and the memory that contains them.
class Vocabulary {
 public:
  /// `may_repeat`: a string may be in the dictionary several times. If nearly all of the first strings are different,
  /// later ones are not looked up.
  explicit Vocabulary(bool may_repeat = false) : may_repeat_(may_repeat) {}

  Dictionary words;
  Memory memory;
  bool are_checked = false;  ///< the following strings are known to be UTF-8

  /// Returns the string's index. Throws unsupported_type if there are more strings than indices, and malformed if it is
  /// not UTF-8. `name` and `row` are for the messages.
  std::int32_t find_or_add(std::string_view text, const std::string& name, std::int64_t row);
  /// Returns the index of an entry of a dictionary, whose row is unknown; kNotUtf8 if it is not UTF-8.
  std::int32_t find_or_add_entry(std::string_view text, const std::string& name) {
    return are_checked || is_utf8(text) ? find_or_add(text, name, 0) : kNotUtf8;
  }
  /// Represents an entry of a dictionary that no row may have.
  static constexpr std::int32_t kNotUtf8 = -2;

 private:
  // A slot of an open hash table. For strings that are all different, a map of the standard library takes several times
  // as long.
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t index = -1;  // of the text; -1: free
  };

  std::int32_t add(std::string_view text, const std::string& name, std::int64_t row);
  [[nodiscard]] std::size_t find(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  bool may_repeat_;
  std::int64_t looked_for_ = 0;  // strings
  bool looks_up_ = true;         // the strings that follow
};

}  // namespace upsweep::io
