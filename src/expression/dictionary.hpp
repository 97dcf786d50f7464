// SPDX-License-Identifier: Apache-2.0
// expression/dictionary.hpp: a dictionary that keeps the strings it is made of.
#pragma once

#include <memory>
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

}  // namespace upsweep::expression
