// SPDX-License-Identifier: Apache-2.0
// sql/expression/dictionary.hpp: dictionaries that keep the strings they are made of.
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

/// Of a vector or deque of strings, in its order.
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

/// A dictionary in the making: strings, each once, in the order in which they come.
class DictionaryBuilder {
 public:
  DictionaryBuilder() = default;
  // A deque's moves may allocate.
  DictionaryBuilder(DictionaryBuilder&&) = default;             // NOLINT(performance-noexcept-move-constructor)
  DictionaryBuilder& operator=(DictionaryBuilder&&) = default;  // NOLINT(performance-noexcept-move-constructor)

  /// Where the text stands, at the end where it is new.
  std::int32_t entry(std::string_view text) {
    if (const auto known = entries_.find(text); known != entries_.end()) return known->second;
    return entries_.emplace(all_.emplace_back(text), static_cast<std::int32_t>(entries_.size())).first->second;
  }
  [[nodiscard]] const std::deque<std::string>& all() const { return all_; }
  [[nodiscard]] std::shared_ptr<const Dictionary> dictionary() && { return dictionary_of(std::move(all_)); }

 private:
  std::deque<std::string> all_;  // which stay where they are
  std::unordered_map<std::string_view, std::int32_t> entries_;
};

}  // namespace upsweep::expression
