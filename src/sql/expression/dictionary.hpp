// SPDX-License-Identifier: Apache-2.0
// sql/expression/dictionary.hpp: dictionaries that own their strings.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "upsweep/table.hpp"

namespace upsweep::expression {

/// A dictionary over a vector or deque of strings, in the same order.
template <class Strings>
std::shared_ptr<const Dictionary> dictionary_of(Strings strings) {
  struct Kept {
    Strings strings;
    Dictionary entries;
  };
  const auto kept = std::make_shared<Kept>();
  kept->strings = std::move(strings);
  kept->entries.assign(kept->strings.begin(), kept->strings.end());
  return {kept, &kept->entries};
}

/// A dictionary that is being built: unique strings, in the order of their first use.
class DictionaryBuilder {
 public:
  DictionaryBuilder() = default;
  // Moving a deque may allocate.
  DictionaryBuilder(DictionaryBuilder&&) = default;             // NOLINT(performance-noexcept-move-constructor)
  DictionaryBuilder& operator=(DictionaryBuilder&&) = default;  // NOLINT(performance-noexcept-move-constructor)

  /// Returns the index of the text. A new text is appended.
  std::int32_t entry(std::string_view text) {
    if (const auto known = entries_.find(text); known != entries_.end()) return known->second;
    return entries_.emplace(all_.emplace_back(text), static_cast<std::int32_t>(entries_.size())).first->second;
  }
  [[nodiscard]] const std::deque<std::string>& all() const { return all_; }
  [[nodiscard]] std::shared_ptr<const Dictionary> dictionary() && { return dictionary_of(std::move(all_)); }

 private:
  std::deque<std::string> all_;  // a deque, so that strings do not move
  std::unordered_map<std::string_view, std::int32_t> entries_;
};

}  // namespace upsweep::expression
