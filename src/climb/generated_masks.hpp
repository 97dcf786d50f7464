// SPDX-License-Identifier: Apache-2.0
// climb/generated_masks.hpp: the masks that ladders are climbed on.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "climb/problem.hpp"

namespace upsweep {

/// The setting of every ladder that is climbed on a mask.
inline constexpr SettingInfo kKeptSetting{
    .name = "kept", .help = "keep this percentage of the generated elements (default: 50)", .most = 100};

/// The requested percentage.
inline std::int64_t kept_share(const ClimbRequest& request) {
  return setting(request, kKeptSetting.name).value_or(Setting{50}).value;
}
/// "kept 50%": the description of a generated mask in an instance.
inline std::string share_name(std::int64_t share) { return "kept " + std::to_string(share) + "%"; }

/// Makes `share` of a hundred elements true.
inline void fill_mask(std::uint8_t* mask, std::int64_t n, std::int64_t share) {
  std::mt19937_64 random(46);
  for (std::int64_t i = 0; i < n; ++i) mask[i] = static_cast<std::int64_t>(random() % 100) < share ? 1 : 0;
}

/// Throws if the column of booleans does not have the length of the column of elements.
inline void require_mask_of(const Column& mask, const Column& content) {
  if (content.count == 0) throw Error(Code::empty, content.name + ": has no elements to climb on");
  if (mask.count == content.count) return;
  throw Error(Code::unequal_lengths, mask.name + " has " + std::to_string(mask.count) + " booleans, but " +
                                         content.name + " has " + std::to_string(content.count) + " elements");
}

}  // namespace upsweep
