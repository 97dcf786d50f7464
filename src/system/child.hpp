// SPDX-License-Identifier: Apache-2.0
// system/child.hpp: work in a separate process, so that a crash, an exit or an endless loop only affects the work.
#pragma once

#include <functional>
#include <string>

namespace upsweep {

/// The output of a child process, and how it ended.
struct ChildEnd {
  std::string said;
  std::string how;  ///< "crashes (Aborted)", "ends the process with status 0", "takes more than 20 s"
};

/// Calls `work` in a copy of this process with a descriptor to write to, and waits for its end. A child that writes
/// nothing for `most_seconds` is ended. Throws Error out_of_memory if no process can be created.
ChildEnd run_in_child(const std::function<void(int out)>& work, int most_seconds);

}  // namespace upsweep
