// SPDX-License-Identifier: Apache-2.0
// system/child.hpp: work in a process of its own, where a crash, an exit or a loop without end is that of the work alone.
#pragma once

#include <functional>
#include <string>

namespace upsweep {

/// What a child process has said, and how it ended.
struct ChildEnd {
  std::string said;
  std::string how;  ///< "crashes (Aborted)", "ends the process with status 0", "takes more than 20 s"
};

/// Calls `work` in a copy of this process with a descriptor to write to, and waits for the end of it. A child that says
/// nothing for `most_seconds` is ended. Throws Error out_of_memory where there is no process to be had.
ChildEnd run_in_child(const std::function<void(int out)>& work, int most_seconds);

}  // namespace upsweep
