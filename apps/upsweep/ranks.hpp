// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ranks.hpp: the processes of one run under mpirun, of which each does its share of the files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace upsweep::command {

/// What ends a rank where rank 0 says what is wrong, and gives the run its exit status: MPI ends all with the first process that
/// fails, and must not end that one before it has spoken.
struct ReportedElsewhere {};

/// This process among those of the run. All of them make the same calls; what fails on one of them ends all, with one message.
class Ranks {
 public:
  /// `command_line` is the same for all. Throws Error not_built where this build has no MPI, invalid_argument.
  explicit Ranks(const std::string& command_line);
  /// Ends what MPI has begun; in the middle of an error that the others do not know of, the whole run.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool reports() const { return rank() == 0; }
  /// This rank's run of files, which keep their order over the ranks.
  [[nodiscard]] std::vector<std::string> share_of(const std::vector<std::string>& files) const;

  /// f(), unless something has failed on this rank already; its Error is kept for settle().
  void run(const std::function<void()>& f);
  /// Throws the Error of the lowest rank that has one: on rank 0, and ReportedElsewhere on the others.
  void settle();

  /// What every rank has, in their order: `bytes` are as many on each.
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
