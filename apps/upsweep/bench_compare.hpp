// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/bench_compare.hpp: finds the changes between two files of `upsweep bench` that exceed the noise.
#pragma once

#include <string>
#include <vector>

#include "values.hpp"

namespace upsweep::command {

/// A rung and the change of its times, at all of its sizes or at one size.
struct Change {
  std::string problem;
  std::string rung;
  std::string device;  ///< "cpu", or a GPU
  std::int64_t n = 0;  ///< 0: all sizes
  int measurements = 0;
  double ratio = 1;  ///< the median ratio of a time after to the time before
  double limit = 0;  ///< for |ln ratio|: a change up to this is noise

  [[nodiscard]] bool is_noise() const;
  /// Whether there are enough measurements to derive the noise from their scatter.
  [[nodiscard]] bool is_judged() const;
};

/// A rung that was verified before and fails after, or a cell that failed after.
struct Broken {
  std::string what;    ///< "scan cpu.lookahead", or the cell
  std::string reason;  ///< of the first measurement
  int measurements = 0;
};

struct Comparison {
  std::vector<Change> rungs;  ///< every rung over all sizes, changed or not
  std::vector<Change> sizes;  ///< rungs that changed only at these sizes
  std::vector<Broken> broken;
  double copy_ratio = 1;  ///< of the machine's own copies and reads
  int only_before = 0;    ///< measurements that the other file does not have
  int only_after = 0;
};

/// Loads a file of results of this version. Throws upsweep::Error: malformed, and the errors of opening a file.
Json load_results(const std::string& path);

/// Whether "rows" and "groups", which are arrays, contain all fields that are compared and counted.
bool is_complete(const Json& results);

/// Replaces the old names of problems by the current ones. `results` is complete.
void use_current_names(Json& results);

/// " (sizes, threads)": the fields in which two objects differ.
std::string differing(const Json& before, const Json& now);

/// Throws Error invalid_argument if the machines differ, or if nothing was measured in both.
Comparison compare(const Json& before, const Json& after);

std::string comparison_text(const Comparison& found);
Json comparison_json(const Comparison& found);

}  // namespace upsweep::command
