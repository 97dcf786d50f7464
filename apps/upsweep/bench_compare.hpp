// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/bench_compare.hpp: what got faster or slower between two files of `upsweep bench`, beyond the noise.
#pragma once

#include <string>
#include <vector>

#include "values.hpp"

namespace upsweep::command {

/// A rung whose times are others, at all of its sizes or at one.
struct Change {
  std::string problem;
  std::string rung;
  std::string device;  ///< "cpu", or a GPU
  std::int64_t n = 0;  ///< 0: all sizes
  int measurements = 0;
  double ratio = 1;  ///< the median of the times after over those before
  double limit = 0;  ///< of |ln ratio|: what is within is noise

  [[nodiscard]] bool is_noise() const;
  /// Whether there are so many measurements that their scatter says what is noise.
  [[nodiscard]] bool is_judged() const;
};

/// A rung that was verified before and fails after, or a cell that failed after.
struct Broken {
  std::string what;    ///< "scan cpu.lookahead", or the cell
  std::string reason;  ///< of the first measurement
  int measurements = 0;
};

struct Comparison {
  std::vector<Change> rungs;  ///< each at all sizes, changed or not
  std::vector<Change> sizes;  ///< rungs that have changed at these sizes alone
  std::vector<Broken> broken;
  double copy_ratio = 1;  ///< of the machine's own copies and reads
  int only_before = 0;    ///< measurements without their like
  int only_after = 0;
};

/// A file of results of this version. Throws upsweep::Error: malformed, and what opening a file does.
Json load_results(const std::string& path);

/// Whether "rows" and "groups", which are arrays, have what is compared and counted.
bool is_complete(const Json& results);

/// Gives problems the names that they have now. `results` is complete.
void use_current_names(Json& results);

/// " (sizes, threads)": the fields in which two objects differ.
std::string differing(const Json& before, const Json& now);

/// Throws Error invalid_argument where the machines are others, or nothing was measured in both.
Comparison compare(const Json& before, const Json& after);

std::string comparison_text(const Comparison& found);
Json comparison_json(const Comparison& found);

}  // namespace upsweep::command
