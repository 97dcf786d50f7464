// SPDX-License-Identifier: Apache-2.0
// query/words.hpp: words that keep the strings they are views of.
#pragma once

#include <memory>
#include <utility>

#include "upsweep/table.hpp"

namespace upsweep::query {

/// The words of a vector or deque of strings, in its order.
template <class Strings>
std::shared_ptr<const Words> words_of(Strings strings) {
  struct Kept {
    Strings strings;
    Words words;
  };
  const auto kept = std::make_shared<Kept>();
  kept->strings = std::move(strings);
  kept->words.assign(kept->strings.begin(), kept->strings.end());
  return {kept, &kept->words};
}

}  // namespace upsweep::query
