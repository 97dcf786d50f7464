// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ranks.hpp: the processes of one run under mpirun; each processes its share of the files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace upsweep::command {

/// Ends a rank while rank 0 reports the error and determines the exit status of the run. MPI ends all processes with
/// the first one that fails. It must not end rank 0 before rank 0 has reported.
struct ReportedElsewhere {};

/// This process among those of the run. All make the same calls. An error on one of them ends all, with one message.
class Ranks {
 public:
  /// `command_line` is the same on all ranks. Throws Error not_built if this build has no MPI, invalid_argument.
  explicit Ranks(const std::string& command_line);
  /// Finalizes MPI. During an error that the other ranks do not have, aborts the whole run.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool reports() const { return rank() == 0; }
  /// This rank's consecutive files. Files keep their order over the ranks.
  [[nodiscard]] std::vector<std::string> share_of(const std::vector<std::string>& files) const;

  /// Calls f(), unless something has already failed on this rank. Its Error is kept for settle().
  void run(const std::function<void()>& f);
  /// Throws the Error of the lowest rank that has one. Only rank 0 throws it; the others throw ReportedElsewhere.
  void settle();

  /// The bytes of every rank, in their order. `bytes` has the same length on each.
  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes) const;
  /// Rank 0's text, on every rank.
  [[nodiscard]] std::string from_first(const std::string& text) const;
  void send(int rank, const std::string& bytes) const;
  [[nodiscard]] std::string receive(int rank) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::command
